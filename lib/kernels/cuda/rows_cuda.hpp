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

/// Adds up each of some values over warps of a block, the same bits in all of their threads. All threads of
/// the block must come here.
///
/// \param of_warps  __shared__ memory, free again when the function returns
template <int count, int most>
__device__ inline void sum_over_warps(float (&values)[count],
                                      int first_warp,
                                      int warps,
                                      float (&of_warps)[count][most]) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
        values[i] = warp_sum(values[i]);
        if (threadIdx.x % warp_size == 0) {
            of_warps[i][threadIdx.x / warp_size] = values[i];
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < count; ++i) {
        values[i] = 0;
        for (int warp = first_warp; warp < first_warp + warps; ++warp) {
            values[i] += of_warps[i][warp];
        }
    }
    __syncthreads();
}

}  // namespace ziggurat::kernels::cuda
