/// Background of a wait: work that a rank goes on with while it waits for others.
#pragma once

namespace ziggurat::comm {

/// Work in pieces, which others may be waiting for.
class Background {
  public:
    /// Does as much as can be done now; does not wait.
    virtual void advance() = 0;

  protected:
    ~Background() = default;
};

}  // namespace ziggurat::comm
