/// What a rank goes on with while it waits for others.
#pragma once

namespace ziggurat::comm {

/// Work that others may be waiting for, in pieces.
class Background {
  public:
    /// Does what can be done now; does not wait.
    virtual void advance() = 0;

  protected:
    ~Background() = default;
};

}  // namespace ziggurat::comm
