/// Exact sums of a block of threads; only *_cuda.cu files include it.
#pragma once

#include <type_traits>

#include "base/exact_sum.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Limbs of several sums in shared memory.
template <int sums>
using SharedLimbs = unsigned long long[sums][ExactSum::num_limbs];

/// Stores the limbs of a sum.
__device__ inline void store_limbs(const ExactSum& sum, unsigned long long (&into)[ExactSum::num_limbs]) {
    const auto own = sum.limbs();
    for (int i = 0; i < ExactSum::num_limbs; ++i) {
        into[i] = static_cast<unsigned long long>(own[i]);
    }
}

/// Adds the sums of a block to `into`, after a barrier. All threads of the block call it.
///
/// There is one atomic addition for each limb of a block: those of all warps would wait for each other.
template <int sums>
__device__ void add_limbs(const SharedLimbs<sums>& limbs, ExactSum* into) {
    static_assert(std::is_standard_layout_v<ExactSum>, "its limbs come first");
    if (threadIdx.x < ExactSum::num_limbs) {
        unsigned long long total = 0;
        for (int i = 0; i < sums; ++i) {
            total += limbs[i][threadIdx.x];
        }
        if (total != 0) {
            atomicAdd(reinterpret_cast<unsigned long long*>(into) + threadIdx.x, total);
        }
    }
}

/// Returns, in lane 0, the sum over a warp. Lanes are folded in halves.
__device__ inline double folded(double sum) {
#pragma unroll
    for (int half = warp_size / 2; half > 0; half /= 2) {
        sum += __shfl_down_sync(all_lanes, sum, half);
    }
    return sum;
}

}  // namespace ziggurat::kernels::cuda
