/// WaitWatch: hears of waits for a device or for the thread of the host's kernels.
#pragma once

#include <string_view>

namespace ziggurat::device {

/// Told by whatever waits in this module, so that somebody notices a wait that does not end. Any thread may
/// call.
class WaitWatch {
  public:
    virtual ~WaitWatch() = default;
    /// The calling thread waits from now on, for `what`.
    virtual void begins(std::string_view what) noexcept = 0;
    /// Its wait is over.
    virtual void ends() noexcept = 0;
};

/// A wait, for as long as it lives.
class WatchedWait {
  public:
    /// \param watch  nothing: nobody hears of it
    WatchedWait(WaitWatch* watch, std::string_view what) noexcept : watch_{watch} {
        if (watch_ != nullptr) {
            watch_->begins(what);
        }
    }
    ~WatchedWait() {
        if (watch_ != nullptr) {
            watch_->ends();
        }
    }
    WatchedWait(const WatchedWait&) = delete;
    WatchedWait& operator=(const WatchedWait&) = delete;

  private:
    WaitWatch* watch_;
};

}  // namespace ziggurat::device
