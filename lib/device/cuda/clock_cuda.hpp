/// Clock: times of a GPU's events on the clock of the host.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace ziggurat::device::cuda {

/// Converter of event times to the clock of the host.
///
/// CUDA measures the time since a reference event as a float of milliseconds, which loses precision with
/// distance. So the reference event is recorded again every few seconds.
class Clock {
  public:
    explicit Clock(int device);
    ~Clock();
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;

    /// Records a new reference event if the current one is old.
    ///
    /// Called regularly by the thread that records events.
    void tick();
    /// Returns the time (monotonic_ns) of an event of the same GPU. \pre it is done
    std::int64_t time_ns(cudaEvent_t event) const;

  private:
    /// Records `next_` on an empty stream. Returns false if its time cannot be measured precisely enough.
    bool take();

    int device_;
    cudaStream_t stream_ = nullptr;
    struct Known {
        cudaEvent_t event = nullptr;
        std::int64_t time_ns = 0;
    };
    Known now_;
    Known next_;
};

/// True if the GPU has reached the last recording of `event`.
///
/// Errors: an error of earlier work on the GPU, see check()
bool has_completed(cudaEvent_t event, const char* doing);

}  // namespace ziggurat::device::cuda
