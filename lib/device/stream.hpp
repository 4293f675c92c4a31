/// Stream: a processor's queue of work, run in order.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "device/wait_observer.hpp"

namespace ziggurat::device {

class Event;
class HostThread;
class Queue;

/// Memory that the kernels of a stream work on.
enum class MemorySpace {
    host,
    /// Host memory that only kernels and copies access, later than they are called: see AsyncQueue.
    emulated_host,
    cuda,  ///< memory of a GPU
};

/// Queue of kernels and copies, run in order.
///
/// A host stream defines the threads that kernels use, and its work is done when the call returns. On a
/// device, calls return at once.
class Stream {
  public:
    /// Creates a host stream whose kernels may use `num_threads` threads.
    ///
    /// \param thread  the only thread that may dispatch kernels; nullptr: the calling thread does
    explicit Stream(int num_threads, HostThread* thread = nullptr) noexcept
        : num_threads_{num_threads}, thread_{thread} {}
    /// Creates a stream of a device.
    ///
    /// \param watch  is notified of waits for it, and outlives it; may be nullptr
    Stream(MemorySpace space, std::shared_ptr<Queue> queue, int num_threads, WaitObserver* watch) noexcept
        : space_{space}, num_threads_{num_threads}, queue_{std::move(queue)}, watch_{watch} {}

    MemorySpace space() const noexcept { return space_; }
    int num_threads() const noexcept { return num_threads_; }
    /// Thread that dispatches kernels of a host stream, if any.
    HostThread* thread() const noexcept { return thread_; }
    /// True if calls return before their work is done.
    bool is_late() const noexcept { return queue_ != nullptr; }
    /// Observer of waits for a device; nullptr on the host.
    WaitObserver* watch() const noexcept { return watch_; }
    /// \pre is_late()
    Queue& queue() const noexcept { return *queue_; }

    /// Makes later calls wait until the last recording of `event` is done. Never blocks the caller.
    /// \pre on a host stream, the event is done
    void wait_for(const Event& event) const;
    /// Waits until all earlier work is done.
    ///
    /// Errors: rethrows an exception of the work
    void finish() const;
    /// Loads the kernels that `work` launches into the memory of a GPU. Other streams do nothing.
    ///
    /// Kernels of this program are loaded but not started; copies are skipped. Libraries load kernels only
    /// when they start them, so their calls run once for each shape on the operands of `work`. Call this
    /// before the operands hold data.
    ///
    /// A kernel loads at its first launch, and that launch waits until the GPU is idle. A NCCL kernel that
    /// waits for another rank keeps the GPU busy. So every kernel must be loaded before the first collective.
    ///
    /// Source: CUDA Programming Guide, "Lazy Loading", section on concurrent execution
    void load(const std::function<void()>& work) const;

  private:
    MemorySpace space_ = MemorySpace::host;
    int num_threads_;
    HostThread* thread_ = nullptr;
    std::shared_ptr<Queue> queue_;
    WaitObserver* watch_ = nullptr;
};

}  // namespace ziggurat::device
