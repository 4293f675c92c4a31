#include "kernels/cuda/product/product_choice_cuda.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "device/cuda/error_cuda.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::cuda {
namespace {

/// Time that one measurement of an option should take at least.
constexpr float min_milliseconds = 0.5F;
/// A faster option replaces the first one if its time is below this fraction.
constexpr float min_gain = 0.99F;

/// An event of the current GPU that measures time.
struct Event {
    cudaEvent_t event = nullptr;

    Event() { device::cuda::check(cudaEventCreateWithFlags(&event, cudaEventDefault), "create an event"); }
    ~Event() { cudaEventDestroy(event); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
};

template <class T>
__global__ void __launch_bounds__(256) store_sample(std::int64_t count, T* to) {
    const auto i = thread_of_grid();
    if (i < count) {
        const auto mixed = (static_cast<std::uint32_t>(i) + 1) * 2654435761U;
        tensor::store(to[i], static_cast<float>((mixed ^ mixed >> 15U) & 255U) / 128 - 1);
    }
}

template <class T>
void fill_sample_of(cudaStream_t stream, void* matrix, std::int64_t count) {
    const auto grid = a_thread_each(count);
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(grid.blocks));
    config.blockDim = dim3(static_cast<unsigned>(grid.threads));
    config.stream = stream;
    device::cuda::check(cudaLaunchKernelEx(&config, store_sample<T>, count, static_cast<T*>(matrix)),
                        "fill the factors of a product that is timed");
}

}  // namespace

void Choice::use_known(int known) {
    if (known >= 0 && known < num_found) {
        chosen = known;
        is_measured = true;
    }
}

void Choice::use_fastest(cudaStream_t stream, const std::function<void(int)>& start) {
    const Event begin, end;
    const auto milliseconds = [&](int option, int calls) {
        device::cuda::check(cudaEventRecord(begin.event, stream), "time a product");
        for (int i = 0; i < calls; ++i) {
            start(option);
        }
        device::cuda::check(cudaEventRecord(end.event, stream), "time a product");
        device::cuda::check(cudaEventSynchronize(end.event), "time a product");
        float elapsed = 0;
        device::cuda::check(cudaEventElapsedTime(&elapsed, begin.event, end.event), "time a product");
        return elapsed / static_cast<float>(calls);
    };
    for (int option = 0; option < num_found; ++option) {
        milliseconds(option, 1);  // loads its kernels
    }
    const float one_call = milliseconds(0, 1);
    const int calls = std::clamp(static_cast<int>(min_milliseconds / std::max(one_call, 0.001F)), 1, 50);
    std::vector<float> best(static_cast<std::size_t>(num_found), std::numeric_limits<float>::max());
    for (int round = 0; round < 3; ++round) {
        for (int option = 0; option < num_found; ++option) {
            best[option] = std::min(best[option], milliseconds(option, calls));
        }
    }
    const auto fastest = std::ranges::min_element(best);
    chosen = *fastest < min_gain * best.front() ? static_cast<int>(fastest - best.begin()) : 0;
    is_measured = true;
}

void fill_sample(cudaStream_t stream, cudaDataType_t type, std::int64_t count, void* to) {
    if (type == CUDA_R_16BF) {
        fill_sample_of<tensor::bfloat16>(stream, to, count);
    } else {
        fill_sample_of<float>(stream, to, count);
    }
}

}  // namespace ziggurat::kernels::cuda
