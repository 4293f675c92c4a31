/// Launches of grids, and the definition of GPU backends; only *_cuda.cu files include it.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "device/cuda/error_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "device/stream.hpp"
#include "kernels/launch/kernel_backend.hpp"

namespace ziggurat::kernels::cuda {

/// Blocks and threads of a launch.
struct Grid {
    std::int64_t blocks;   ///< if 0, the kernel is not launched
    int threads;           ///< of each block; a multiple of 32 up to 1024
    int shared_bytes = 0;  ///< dynamic shared memory of each block
};

/// Shared memory that a block can use without opt-in.
inline constexpr int plain_shared_bytes = 48 << 10;

/// Returns the maximum shared memory of a block on the calling thread's GPU.
///
/// 227 KiB with compute capability 9.0, 163 KiB with 8.0, 99 KiB with 8.6 and 8.9.
inline int max_shared_bytes(const device::Stream& stream) {
    static_cast<void>(device::cuda::handle_of(stream));  // selects the stream's GPU for this thread
    int gpu = 0, bytes = 0;
    device::cuda::check(cudaGetDevice(&gpu), "find the current GPU");
    device::cuda::check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu),
                        "read the size of a GPU's shared memory");
    return bytes;
}

/// Launches `kernel` on `grid`. In Stream::load() it loads the kernel instead.
///
/// Errors: Error{internal} with `name` if the launch fails
template <class... Parameters, class... Arguments>
void launch_grid(const device::Stream& stream,
                 const char* name,
                 Grid grid,
                 void (*kernel)(Parameters...),
                 Arguments&&... arguments) {
    if (device::cuda::is_loading()) {
        cudaFuncAttributes loaded;
        static_cast<void>(device::cuda::handle_of(stream));  // selects the stream's GPU for this thread
        device::cuda::check(cudaFuncGetAttributes(&loaded, kernel), name);
        return;
    }
    if (grid.blocks == 0) {
        return;
    }
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(grid.blocks));
    config.blockDim = dim3(static_cast<unsigned>(grid.threads));
    config.dynamicSmemBytes = static_cast<std::size_t>(grid.shared_bytes);
    config.stream = device::cuda::handle_of(stream);
    if (grid.shared_bytes > plain_shared_bytes) {
        device::cuda::check(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, grid.shared_bytes),
            name);
    }
    device::cuda::check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), name);
}

/// Returns a grid of blocks of `threads` with at least one thread for each of `count` items.
inline Grid a_thread_each(std::int64_t count, int threads = 256) {
    return {(count + threads - 1) / threads, threads};
}

/// Returns the index of this thread in its grid.
__device__ inline std::int64_t thread_of_grid() {
    return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// Maps a kernel to the function that computes it.
template <auto kernel>
struct ComputedBy;

template <class... Parameters, void (*kernel)(const device::Stream&, Parameters...)>
void KernelBackend<kernel>::run(const device::Stream& stream,
                                typename DeviceArgumentOf<Parameters>::Type... arguments) {
    ComputedBy<kernel>::function(stream, arguments...);
}

}  // namespace ziggurat::kernels::cuda

/// ZG_REGISTER_CUDA_KERNEL(column_sum<float>), used in kernels::cuda as ZG_REGISTER_HOST_KERNEL in
/// kernels::host.
#define ZG_REGISTER_CUDA_KERNEL(...)                                   \
    template <>                                                        \
    struct ComputedBy<&kernels::__VA_ARGS__> {                         \
        static constexpr auto* function = &kernels::cuda::__VA_ARGS__; \
    };                                                                 \
    template struct KernelBackend<&kernels::__VA_ARGS__>
