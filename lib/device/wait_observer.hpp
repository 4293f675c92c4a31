/// WaitObserver: observer of waits for a device or for the thread of host kernels.
#pragma once

#include <string_view>

namespace ziggurat::device {

/// Observer that every wait in this module notifies, so that a wait which does not end is detected.
/// Thread-safe.
class WaitObserver {
  public:
    virtual ~WaitObserver() = default;
    /// Notifies that the calling thread starts to wait for `what`.
    virtual void wait_begin(std::string_view what) noexcept = 0;
    /// Notifies that the wait has ended.
    virtual void wait_end() noexcept = 0;
};

/// Wait for the lifetime of this object.
class ScopedWait {
  public:
    /// \param watch  may be nullptr: the wait is not reported
    ScopedWait(WaitObserver* watch, std::string_view what) noexcept : watch_{watch} {
        if (watch_ != nullptr) {
            watch_->wait_begin(what);
        }
    }
    ~ScopedWait() {
        if (watch_ != nullptr) {
            watch_->wait_end();
        }
    }
    ScopedWait(const ScopedWait&) = delete;
    ScopedWait& operator=(const ScopedWait&) = delete;

  private:
    WaitObserver* watch_;
};

}  // namespace ziggurat::device
