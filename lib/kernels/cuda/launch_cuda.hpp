/// Launches of grids; only *_cuda.cu files include it.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "device/cuda/error_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "device/stream.hpp"

namespace ziggurat::kernels::cuda {

/// Blocks and threads of a launch.
struct Grid {
    std::int64_t blocks;   ///< none: nothing is launched
    int threads;           ///< of each block, a multiple of 32 up to 1024
    int shared_bytes = 0;  ///< of each block, besides what the kernel declares
};

/// Shared memory that a block may have without asking.
inline constexpr int plain_shared_bytes = 48 << 10;

/// Shared memory that a block of the calling thread's GPU may ask for: 227 KiB with compute capability 9.0,
/// 163 KiB with 8.0, 99 KiB with 8.6 and 8.9.
inline int max_shared_bytes(const device::Stream& stream) {
    static_cast<void>(device::cuda::handle_of(stream));  // makes its GPU the thread's
    int gpu = 0, bytes = 0;
    device::cuda::check(cudaGetDevice(&gpu), "find the current GPU");
    device::cuda::check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu),
                        "read the size of a GPU's shared memory");
    return bytes;
}

/// Calls `kernel` on every thread of `grid`. In Stream::load() the kernel is loaded instead.
///
/// Errors: Error{internal} that names `name` when it cannot be launched
template <class... Parameters, class... Arguments>
void launch_grid(const device::Stream& stream,
                 const char* name,
                 Grid grid,
                 void (*kernel)(Parameters...),
                 Arguments&&... arguments) {
    if (device::cuda::is_loading()) {
        cudaFuncAttributes loaded;
        static_cast<void>(device::cuda::handle_of(stream));  // makes its GPU the thread's
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

/// So many blocks of `threads` that each of `count` items has a thread of its own.
inline Grid a_thread_each(std::int64_t count, int threads = 256) {
    return {(count + threads - 1) / threads, threads};
}

/// This thread among all of its launch.
__device__ inline std::int64_t thread_of_grid() {
    return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

}  // namespace ziggurat::kernels::cuda
