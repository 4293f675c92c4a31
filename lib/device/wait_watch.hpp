/// WaitWatch: observer of waits for a device or for the thread of host kernels.
#pragma once

#include <string_view>

namespace ziggurat::device {

/// Observer that every wait in this module notifies, so that a wait which does not end is detected.
/// Thread-safe.
class WaitWatch {
  public:
    virtual ~WaitWatch() = default;
    /// Notifies that the calling thread starts to wait for `what`.
    virtual void begins(std::string_view what) noexcept = 0;
    /// Notifies that the wait has ended.
    virtual void ends() noexcept = 0;
};

/// Wait for the lifetime of this object.
class WatchedWait {
  public:
    /// \param watch  may be nullptr: the wait is not reported
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
