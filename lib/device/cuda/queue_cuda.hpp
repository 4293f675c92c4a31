/// CudaQueue: queue of a GPU's stream, implemented with a CUDA stream.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "device/cuda/clock_cuda.hpp"
#include "device/cuda/libraries_cuda.hpp"
#include "device/cuda/unpinned_cuda.hpp"
#include "device/queue.hpp"
#include "device/stream.hpp"

namespace ziggurat::device::cuda {

/// Priority of the kernels of a stream.
enum class Priority { normal, high };

/// Queue on a CUDA stream. No call waits for the GPU except `finish`.
class CudaQueue final : public Queue {
  public:
    /// \param clock, libraries, unpinned  of the same GPU
    CudaQueue(int device,
              Priority priority,
              std::shared_ptr<Clock> clock,
              std::shared_ptr<Libraries> libraries,
              std::shared_ptr<UnpinnedRanges> unpinned);
    ~CudaQueue() override;
    CudaQueue(const CudaQueue&) = delete;
    CudaQueue& operator=(const CudaQueue&) = delete;

    void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override;
    std::unique_ptr<EventHandle> record_event() override;
    void record(EventHandle& mark) override;
    void wait_for(const EventHandle& mark) override;
    void finish() override;
    void load(const std::function<void()>& work) override;

    /// Returns the CUDA stream for launches by the calling thread, and makes its GPU current.
    cudaStream_t handle() const;
    Libraries& libraries() const noexcept { return *libraries_; }

  private:
    int device_;
    std::shared_ptr<Clock> clock_;
    std::shared_ptr<Libraries> libraries_;
    std::shared_ptr<UnpinnedRanges> unpinned_;
    std::unique_ptr<UnpinnedCopies> unpinned_copies_;  ///< created when first needed
    cudaStream_t stream_ = nullptr;
};

/// Returns the CUDA stream of `stream`. \pre it is a stream of a GPU
cudaStream_t handle_of(const Stream& stream);
/// True while the calling thread is in Stream::load().
///
/// Launches then load their kernels but do not start them.
bool is_loading() noexcept;

/// Starts the launches of the calling thread during its lifetime, also in Stream::load().
class StartedLaunches {
  public:
    StartedLaunches() noexcept;
    ~StartedLaunches();
    StartedLaunches(const StartedLaunches&) = delete;
    StartedLaunches& operator=(const StartedLaunches&) = delete;

  private:
    bool was_loading_;
};

/// Returns the library handles for the GPU of `stream`. \pre it is a stream of a GPU
Libraries& libraries_of(const Stream& stream);

}  // namespace ziggurat::device::cuda
