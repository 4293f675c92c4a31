#include "kernels/gradient_norm.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/cuda/kernel_backend_cuda.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::cuda {
namespace {

constexpr int block_elements = 256;
constexpr int threads = 256;
constexpr std::int64_t warps_of_block = threads / warp_size;
/// Enough blocks for every multiprocessor; more would only add sums to merge.
constexpr std::int64_t max_blocks = 1024;

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
#pragma unroll
    for (int half = warp_size / 2; half > 0; half /= 2) {
        sum += __shfl_down_sync(all_lanes, sum, half);
    }
    return sum;
}

/// Adds limbs to those at the start of a sum, without propagating carries.
__device__ void add_limbs(const ExactSum::Limbs& limbs, ExactSum* into) {
    static_assert(std::is_standard_layout_v<ExactSum>, "its limbs come first");
    auto* const at = reinterpret_cast<unsigned long long*>(into);
    for (int i = 0; i < ExactSum::num_limbs; ++i) {
        if (limbs[static_cast<std::size_t>(i)] != 0) {
            atomicAdd(at + i, static_cast<unsigned long long>(limbs[static_cast<std::size_t>(i)]));
        }
    }
}

/// Each warp sums every n-th block. The order in which sums are merged does not change the bits.
template <class E>
__global__ void __launch_bounds__(threads) add_squares(const E* gradient, std::int64_t size, ExactSum* into) {
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const auto warps = std::int64_t{gridDim.x} * warps_of_block;
    ExactSum sum;
    for (auto block = thread_of_grid() / warp_size; block * block_elements < size; block += warps) {
        const auto begin = block * block_elements;
        const double squares = squares_of_block(gradient + begin, size - begin, lane);
        if (lane == 0) {
            sum.add(squares);
        }
    }
    if (lane == 0) {
        add_limbs(sum.limbs(), into);
    }
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
    launch_grid(stream, "sum_of_squares", {of_grid, threads}, add_squares<E>, gradient.data(), size, into);
    launch_grid(stream, "sum_of_squares", {1, warp_size}, move_carries_on, into);
}

ZG_REGISTER_CUDA_KERNEL(sum_of_squares<float>);
ZG_REGISTER_CUDA_KERNEL(sum_of_squares<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
