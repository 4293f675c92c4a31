/// LateQueue: queue of a stream of a DelayedHost.
#pragma once

#include <memory>
#include <thread>

#include "device/delayed/delayed_memory.hpp"
#include "device/delayed/late_work.hpp"
#include "device/delayed_queue.hpp"

namespace ziggurat::device {

/// Queue of a DelayedHost. Its destructor waits for its work.
class LateQueue final : public DelayedQueue {
  public:
    /// Errors: Error{resource} if the system cannot start a thread
    LateQueue(std::shared_ptr<LateWork> work, std::shared_ptr<const DelayedMemory> memory);
    ~LateQueue() override;
    LateQueue(const LateQueue&) = delete;
    LateQueue& operator=(const LateQueue&) = delete;

    void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override;
    std::unique_ptr<Mark> make_mark() override;
    void record(Mark& mark) override;
    void wait_for(const Mark& mark) override;
    void finish() override;
    void run(std::function<void()> work) override;
    std::byte* reachable(const std::byte* address) const override;

  private:
    std::shared_ptr<LateWork> work_;
    std::shared_ptr<const DelayedMemory> memory_;
    LateLine line_;
    std::thread thread_;
};

}  // namespace ziggurat::device
