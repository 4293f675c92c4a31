/// Sums and maxima over a warp or a block in a fixed order; only *_cuda.cu files include it.
#pragma once

#include <cuda_runtime.h>

namespace ziggurat::kernels::cuda {

inline constexpr int warp_size = 32;
inline constexpr unsigned all_lanes = 0xffffffffu;

/// Returns the sum over a warp.
///
/// All lanes get the same bits, because each step adds the same two numbers in both lanes of a pair.
__device__ inline float warp_sum(float value) {
#pragma unroll
    for (int distance = warp_size / 2; distance > 0; distance /= 2) {
        value += __shfl_xor_sync(all_lanes, value, distance);
    }
    return value;
}

/// Returns the maximum over a warp. NaNs are ignored, unless all lanes have one.
__device__ inline float warp_max(float value) {
#pragma unroll
    for (int distance = warp_size / 2; distance > 0; distance /= 2) {
        value = fmaxf(value, __shfl_xor_sync(all_lanes, value, distance));
    }
    return value;
}

/// Sums as sum_over_warps does, with one barrier instead of two.
///
/// \param of_warps  __shared__ memory; the next call must have other memory
template <int count, int most>
__device__ inline void sum_over_warps_once(float (&values)[count],
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
}

/// Sums each of some values over warps of a block, with the same bits in all of their threads.
///
/// All threads of the block must call it.
///
/// \param of_warps  __shared__ memory; reusable when the function returns
template <int count, int most>
__device__ inline void sum_over_warps(float (&values)[count],
                                      int first_warp,
                                      int warps,
                                      float (&of_warps)[count][most]) {
    sum_over_warps_once(values, first_warp, warps, of_warps);
    __syncthreads();
}

}  // namespace ziggurat::kernels::cuda
