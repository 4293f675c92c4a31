/// What a waiting rank does between two looks.
#pragma once

namespace ziggurat::comm {

/// Spins briefly, then yields, then sleeps: the answer comes fast when it is near, and more ranks than
/// cores do not crawl.
class IdleWait {
  public:
    /// Nothing had changed: wait a little, longer each time.
    void idle() noexcept;
    /// Something has changed: begin anew.
    void reset() noexcept { tries_ = 0; }

  private:
    int tries_ = 0;
};

}  // namespace ziggurat::comm
