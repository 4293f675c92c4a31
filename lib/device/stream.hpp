/// Stream: a processor's queue of work, done in order.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "device/wait_watch.hpp"

namespace ziggurat::device {

class Event;
class HostThread;
class Queue;

/// Memory that the kernels of a stream work on.
enum class MemorySpace {
    host,
    delayed_host,  ///< host memory that only kernels and copies reach, later than they are called: see
                   ///< DelayedQueue
    cuda,          ///< of a GPU
};

/// A queue of work. On the host it names the threads that do it, and work is done when the call returns; on a
/// device the call returns at once. Copies of a stream are the same queue.
class Stream {
  public:
    /// A host stream whose kernels may use `num_threads` threads.
    ///
    /// \param thread  the only one that may dispatch kernels; nothing: whoever calls them
    explicit Stream(int num_threads, HostThread* thread = nullptr) noexcept
        : num_threads_{num_threads}, thread_{thread} {}
    /// A stream of a device.
    ///
    /// \param watch  hears of waits for it, and outlives it; nothing: nobody does
    Stream(MemorySpace space, std::shared_ptr<Queue> queue, int num_threads, WaitWatch* watch) noexcept
        : space_{space}, num_threads_{num_threads}, queue_{std::move(queue)}, watch_{watch} {}

    MemorySpace space() const noexcept { return space_; }
    int num_threads() const noexcept { return num_threads_; }
    /// Of a host stream.
    HostThread* thread() const noexcept { return thread_; }
    /// Whether calls return before their work is done.
    bool is_late() const noexcept { return queue_ != nullptr; }
    /// What hears of waits for a device; nullptr on the host.
    WaitWatch* watch() const noexcept { return watch_; }
    /// \pre is_late()
    Queue& queue() const noexcept { return *queue_; }

    /// What is called from now on begins when `event`, as it was recorded last, is done. Never waits itself.
    /// \pre on a host stream, the event is done
    void wait_for(const Event& event) const;
    /// Returns when all that was called is done.
    ///
    /// Errors: what the work has thrown
    void finish() const;
    /// Loads the kernels that `work` launches into the memory of a GPU. Other streams do nothing.
    ///
    /// Kernels of this program are loaded and not started; copies are left out. Calls of libraries, which
    /// load kernels only when they start them, run once for each shape on the operands of `work`: call this
    /// before these hold anything.
    ///
    /// Kernels load at their first launch, and that launch waits until the GPU is idle. A kernel of NCCL that
    /// waits for another rank keeps it busy, so every kernel has to be loaded before the first collective.
    ///
    /// Source: CUDA Programming Guide, "Lazy Loading", section on concurrent execution
    void load(const std::function<void()>& work) const;

  private:
    MemorySpace space_ = MemorySpace::host;
    int num_threads_;
    HostThread* thread_ = nullptr;
    std::shared_ptr<Queue> queue_;
    WaitWatch* watch_ = nullptr;
};

}  // namespace ziggurat::device
