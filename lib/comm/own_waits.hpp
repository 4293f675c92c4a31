/// OwnWaits: publishes what a rank waits for where that is its own device or host thread.
#pragma once

#include <string_view>
#include <thread>

#include "comm/wait_context.hpp"
#include "device/wait_watch.hpp"

namespace ziggurat::comm {

/// So that the rank itself ends a wait of its main thread that takes too long, and others know that it is at
/// work. Waits of other threads are not published: what hangs there, the main thread comes to wait for.
class OwnWaits final : public device::WaitWatch {
  public:
    /// Of the calling thread, the one that publishes through `waits`.
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
