#include <cmath>
#include <utility>

#include "base/clock.hpp"
#include "device/cuda/clock_cuda.hpp"
#include "device/cuda/error_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"

namespace ziggurat::device::cuda {
namespace {

/// Over this time, a float of milliseconds has a resolution of half a microsecond.
constexpr std::int64_t long_ago_ns = 5'000'000'000;
/// An empty stream reaches an event in a few microseconds.
///
/// A longer time means that the calling thread was delayed.
constexpr std::int64_t close_ns = 100'000;

}  // namespace

Clock::Clock(int device) : device_{device} {
    use_device(device_);
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
    check(cudaEventCreateWithFlags(&now_.event, cudaEventDefault), "make an event");
    check(cudaEventCreateWithFlags(&next_.event, cudaEventDefault), "make an event");
    check(cudaEventRecord(next_.event, stream_), "record an event");
    check(cudaEventSynchronize(next_.event), "wait for an event");  // wakes up the GPU
    check(cudaEventRecord(next_.event, stream_), "record an event");
    check(cudaEventSynchronize(next_.event), "wait for an event");
    next_.time_ns = monotonic_ns();
    std::swap(now_, next_);
}

Clock::~Clock() {
    cudaEventDestroy(now_.event);
    cudaEventDestroy(next_.event);
    cudaStreamDestroy(stream_);
}

void Clock::tick() {
    if (monotonic_ns() - now_.time_ns > long_ago_ns && take()) {
        std::swap(now_, next_);
    }
}

bool Clock::take() {
    use_device(device_);
    const auto begin = monotonic_ns();
    check(cudaEventRecord(next_.event, stream_), "record an event");
    while (!has_completed(next_.event, "wait for an event")) {
        if (monotonic_ns() - begin > close_ns) {
            return false;
        }
    }
    next_.time_ns = monotonic_ns();
    return true;
}

std::int64_t Clock::time_ns(cudaEvent_t event) const {
    float since_ms = 0;
    check(cudaEventElapsedTime(&since_ms, now_.event, event), "read the time of an event");
    return now_.time_ns + std::llround(double(since_ms) * 1e6);
}

bool has_completed(cudaEvent_t event, const char* doing) {
    const auto result = cudaEventQuery(event);
    if (result == cudaErrorNotReady) {
        static_cast<void>(cudaGetLastError());  // CUDA keeps cudaErrorNotReady as the last error
        return false;
    }
    check(result, doing);
    return true;
}

}  // namespace ziggurat::device::cuda
