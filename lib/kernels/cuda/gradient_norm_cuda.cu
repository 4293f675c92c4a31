#include "kernels/gradient_norm.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/cuda/exact_sum_cuda.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/pack_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::cuda {
namespace {

constexpr int block_elements = 256;
constexpr int threads = 256;
constexpr std::int64_t warps_of_block = threads / warp_size;
/// Enough blocks for every multiprocessor; more would only add sums to merge.
constexpr std::int64_t max_blocks = 264;

/// Returns, in lane 0, the sum of squares of elements [0, count) of a block of 256.
///
/// gradient_norm.hpp defines the order of the sum.
template <class E>
__device__ double squares_of_block(const E* x, std::int64_t count, int lane) {
    double sum = 0;
#pragma unroll
    for (int i = 0; i < block_elements; i += warp_size) {
        const double element = i + lane < count ? float(x[i + lane]) : 0.0F;
        sum = std::fma(element, element, sum);
    }
    return folded(sum);
}

/// Blocks of 256 that a warp sums at a time with 16-byte loads.
///
/// A block has `lanes` lanes. Each of them holds `count` of the block's 32 sums, those of adjacent elements.
template <class E>
struct BlocksOfWarp {
    static constexpr int count = SixteenBytes<E>::count;
    static constexpr int lanes = warp_size / count;
    static constexpr int loads = block_elements / warp_size;
};

/// Returns, in each lane, the sum of squares of its block. `from` is the lane's first element.
///
/// The order of the sum is that of squares_of_block.
template <class E>
__device__ double squares_of_blocks(const E* from) {
    using By = BlocksOfWarp<E>;
    SixteenBytes<E> read[By::loads];
#pragma unroll
    for (int i = 0; i < By::loads; ++i) {
        read[i] = *reinterpret_cast<const SixteenBytes<E>*>(from + i * warp_size);
    }
    double sums[By::count] = {};
#pragma unroll
    for (int i = 0; i < By::loads; ++i) {
#pragma unroll
        for (int k = 0; k < By::count; ++k) {
            const double element = float(read[i].element[k]);
            sums[k] = std::fma(element, element, sums[k]);
        }
    }
#pragma unroll
    for (int half = By::lanes / 2; half > 0; half /= 2) {
#pragma unroll
        for (int k = 0; k < By::count; ++k) {
            sums[k] += __shfl_xor_sync(all_lanes, sums[k], half);
        }
    }
#pragma unroll
    for (int half = By::count / 2; half > 0; half /= 2) {
#pragma unroll
        for (int k = 0; k < half; ++k) {
            sums[k] += sums[k + half];
        }
    }
    return sums[0];
}

/// Each warp sums every n-th group of blocks.
///
/// The order in which sums are merged does not change the bits.
///
/// \param by_blocks  number of elements, from the start, that are summed with 16-byte loads
template <class E>
__global__ void __launch_bounds__(threads, 2)
    add_squares(const E* gradient, std::int64_t size, std::int64_t by_blocks, ExactSum* into) {
    using By = BlocksOfWarp<E>;
    constexpr int sums = static_cast<int>(warps_of_block) * By::count;
    __shared__ SharedLimbs<sums> limbs;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int block_of_warp = lane / By::lanes;
    const bool adds = lane % By::lanes == 0;
    const auto warps = std::int64_t{gridDim.x} * warps_of_block;
    const auto warp = thread_of_grid() / warp_size;
    constexpr auto elements = std::int64_t{By::count} * block_elements;
    const E* const first =
        gradient + block_of_warp * block_elements + lane % By::lanes * SixteenBytes<E>::count;
    ExactSum sum;
    for (auto begin = warp * elements; begin < by_blocks; begin += warps * elements) {
        const double squares = squares_of_blocks(first + begin);
        if (adds) {
            sum.add(squares);
        }
    }
    for (auto begin = by_blocks + warp * block_elements; begin < size; begin += warps * block_elements) {
        const double squares = squares_of_block(gradient + begin, size - begin, lane);
        if (lane == 0) {
            sum.add(squares);
        }
    }
    if (adds) {
        store_limbs(sum, limbs[static_cast<int>(threadIdx.x) / By::lanes]);
    }
    __syncthreads();
    add_limbs<sums>(limbs, into);
}

/// Propagates carries, so that the sum has the same representation for any order of additions.
static __global__ void __launch_bounds__(warp_size) move_carries_on(ExactSum* sum) {
    if (threadIdx.x == 0) {
        sum->merge(ExactSum{});
    }
}

}  // namespace

template <class E>
void sum_of_squares(const device::Stream& stream, std::span<const E> gradient, ExactSum* into) {
    const auto size = static_cast<std::int64_t>(gradient.size());
    const auto blocks = (size + block_elements - 1) / block_elements;
    const auto of_grid = std::min(max_blocks, (blocks + warps_of_block - 1) / warps_of_block);
    constexpr auto elements = std::int64_t{BlocksOfWarp<E>::count} * block_elements;
    const auto by_blocks = are_aligned(gradient.data()) ? size / elements * elements : 0;
    launch_grid(stream, "sum_of_squares", {of_grid, threads}, add_squares<E>, gradient.data(), size,
                by_blocks, into);
    launch_grid(stream, "sum_of_squares", {1, warp_size}, move_carries_on, into);
}

ZG_REGISTER_CUDA_KERNEL(sum_of_squares<float>);
ZG_REGISTER_CUDA_KERNEL(sum_of_squares<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
