/// MainThreadWaits: publishes waits of a rank for its own device or host thread.
#pragma once

#include <string_view>
#include <thread>

#include "comm/wait_context.hpp"
#include "device/wait_observer.hpp"

namespace ziggurat::comm {

/// Observer that publishes waits of the main thread for the rank's own processors.
///
/// With it, the rank itself detects such a wait that takes too long, and others see that it is busy. Waits of
/// other threads are not published: if one hangs, the main thread eventually waits for it.
class MainThreadWaits final : public device::WaitObserver {
  public:
    /// Publishes waits of the calling thread, the one that publishes through `waits`.
    explicit MainThreadWaits(const WaitContext& waits) noexcept : waits_{waits} {}

    void wait_begin(std::string_view what) noexcept override {
        if (std::this_thread::get_id() == publisher_) {
            waits_.publish(what, WaitTarget::own_device);
        }
    }
    void wait_end() noexcept override {
        if (std::this_thread::get_id() == publisher_) {
            waits_.end_wait();
        }
    }

  private:
    WaitContext waits_;
    std::thread::id publisher_ = std::this_thread::get_id();
};

}  // namespace ziggurat::comm
