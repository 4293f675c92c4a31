/// Background: work that a rank continues while it waits for others.
#pragma once

namespace ziggurat::comm {

/// Work in pieces that other ranks may wait for.
class BackgroundWork {
  public:
    /// Does as much as is possible now, without waiting.
    virtual void advance() = 0;

  protected:
    ~BackgroundWork() = default;
};

}  // namespace ziggurat::comm
