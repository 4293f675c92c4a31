/// EmulatedQueue: queue of a stream of a EmulatedDevice.
#pragma once

#include <memory>
#include <thread>

#include "device/async_queue.hpp"
#include "device/emulated/emulated_memory.hpp"
#include "device/emulated/emulated_scheduler.hpp"

namespace ziggurat::device {

/// Queue of a EmulatedDevice. Its destructor waits for its work.
class EmulatedQueue final : public AsyncQueue {
  public:
    /// Errors: Error{resource} if the system cannot start a thread
    EmulatedQueue(std::shared_ptr<EmulatedScheduler> work, std::shared_ptr<const EmulatedMemory> memory);
    ~EmulatedQueue() override;
    EmulatedQueue(const EmulatedQueue&) = delete;
    EmulatedQueue& operator=(const EmulatedQueue&) = delete;

    void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override;
    std::unique_ptr<EventHandle> record_event() override;
    void record(EventHandle& mark) override;
    void wait_for(const EventHandle& mark) override;
    void finish() override;
    void run(std::function<void()> work) override;
    std::byte* reachable(const std::byte* address) const override;

  private:
    std::shared_ptr<EmulatedScheduler> work_;
    std::shared_ptr<const EmulatedMemory> memory_;
    StreamFifo line_;
    std::thread thread_;
};

}  // namespace ziggurat::device
