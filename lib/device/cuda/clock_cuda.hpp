/// Clock: times of a GPU's events on the host's clock.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace ziggurat::device::cuda {

/// CUDA tells the time between two events, as a float of milliseconds: of an event of known time, and the
/// less exactly the longer ago that was. So the known one is recorded anew every few seconds.
class Clock {
  public:
    explicit Clock(int device);
    ~Clock();
    Clock(const Clock&) = delete;
    Clock& operator=(const Clock&) = delete;

    /// Called now and then by the thread that records events: takes a new known event when the last one is
    /// old.
    void tick();
    /// The time (monotonic_ns) of an event of the same GPU. \pre it is done
    std::int64_t time_ns(cudaEvent_t event) const;

  private:
    /// Records `known` on an empty stream; false when its time cannot be told closely enough.
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

/// Whether the GPU has come to where `event` was recorded last.
///
/// Errors: what work in front of it ended with, as check() says
bool is_reached(cudaEvent_t event, const char* doing);

}  // namespace ziggurat::device::cuda
