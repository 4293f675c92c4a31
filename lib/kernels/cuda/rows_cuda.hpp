/// Sums and maxima over a warp or a block in an order that is fixed; only *_cuda.cu files include it.
#pragma once

#include <cuda_runtime.h>

namespace ziggurat::kernels::cuda {

inline constexpr int warp_size = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;

/// The same bits in every lane, for each step adds the same two numbers in both lanes of a pair.
__device__ inline float warp_sum(float value) {
#pragma unroll
    for (int distance = warp_size / 2; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(all_lanes, value, distance);
    }
    return value;
}

/// A NaN is no maximum, unless it is all lanes'.
__device__ inline float warp_max(float value) {
#pragma unroll
    for (int distance = warp_size / 2; distance > 0; distance /= 2) {
        value = fmaxf(value, __shfl_xor_sync(all_lanes, value, distance));
    }
    return value;
}

/// The sum over a block of up to `most` warps, the same bits in all threads.
///
/// \param sums  __shared__ memory, free again when the function returns
template <int most>
__device__ inline float block_sum(float value, float (&sums)[most]) {
    value = warp_sum(value);
    if (threadIdx.x % warp_size == 0) {
        sums[threadIdx.x / warp_size] = value;
    }
    __syncthreads();
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    float total = 0;
#pragma unroll
    for (int warp = 0; warp < most; ++warp) {
        total += warp < warps ? sums[warp] : 0.0F;
    }
    __syncthreads();
    return total;
}

}  // namespace ziggurat::kernels::cuda
