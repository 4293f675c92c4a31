/// Stream: the device and the threads that do work in order.
#pragma once

namespace ziggurat::device {

enum class MemorySpace { host, device };

/// A queue of work. On the host it names its thread team and work is done when the call returns; on a GPU it
/// is a CUDA stream.
class Stream {
  public:
    /// A host stream whose kernels may use `num_threads` threads.
    explicit Stream(int num_threads) noexcept : num_threads_{num_threads} {}

    MemorySpace space() const noexcept { return MemorySpace::host; }
    int num_threads() const noexcept { return num_threads_; }

  private:
    int num_threads_;
};

}  // namespace ziggurat::device
