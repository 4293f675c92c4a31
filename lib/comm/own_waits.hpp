/// OwnWaits: publishes waits of a rank for its own device or host thread.
#pragma once

#include <string_view>
#include <thread>

#include "comm/wait_context.hpp"
#include "device/wait_watch.hpp"

namespace ziggurat::comm {

/// Observer that publishes waits of the main thread for the rank's own processors.
///
/// With it, the rank itself detects such a wait that takes too long, and others see that it is busy. Waits of
/// other threads are not published: if one hangs, the main thread eventually waits for it.
class OwnWaits final : public device::WaitWatch {
  public:
    /// Publishes waits of the calling thread, the one that publishes through `waits`.
    explicit OwnWaits(const WaitContext& waits) noexcept : waits_{waits} {}

    void begins(std::string_view what) noexcept override {
        if (std::this_thread::get_id() == publisher_) {
            waits_.publish(what, Awaited::own_processor);
        }
    }
    void ends() noexcept override {
        if (std::this_thread::get_id() == publisher_) {
            waits_.moves();
        }
    }

  private:
    WaitContext waits_;
    std::thread::id publisher_ = std::this_thread::get_id();
};

}  // namespace ziggurat::comm
