#include "kernels/column_sum.hpp"

#include <algorithm>

#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/partial_sums_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::cuda {
namespace {

constexpr int warps = 8;
constexpr int threads = warps * warp_size;
/// Columns that one block of threads sums: one pack for each lane.
constexpr int strip = warp_size * pack;
static_assert(strip == threads);
/// Intended number of thread blocks: four for each multiprocessor.
constexpr std::int64_t wanted_blocks = 4 * layout::CudaWorkspaces::multiprocessors;

/// One thread block sums one block of rows of one strip.
///
/// Each warp sums every n-th row, where n is the number of warps. The sums of the warps are then added in
/// order.
template <class T>
__global__ void __launch_bounds__(threads)
    sum_rows(PartialSums sums, std::int64_t strips, bool is_aligned, const T* dy) {
    __shared__ float of_warps[warps][strip];
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const auto block = blockIdx.x / strips;
    const auto first_column = blockIdx.x % strips * strip;
    const auto begin = first_column + lane * pack;
    const auto left = sums.width - begin;
    const int count = static_cast<int>(left < pack ? left : pack);
    float total[pack] = {};
    if (count > 0) {
        const auto end = sums.first_row(block + 1);
#pragma unroll 4
        for (auto row = sums.first_row(block) + warp; row < end; row += warps) {
            float value[pack];
            load_some(dy + row * sums.width + begin, count, is_aligned, value);
#pragma unroll
            for (int i = 0; i < pack; ++i) {
                total[i] += value[i];
            }
        }
    }
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        of_warps[warp][lane * pack + i] = total[i];
    }
    __syncthreads();
    const auto column = first_column + threadIdx.x;
    if (column < sums.width) {
        float of_block = 0;
#pragma unroll
        for (int of = 0; of < warps; ++of) {
            of_block += of_warps[of][threadIdx.x];
        }
        sums.of_block(block, 0)[column] = of_block;
    }
}

}  // namespace

template <class T>
void column_sum(const device::Stream& stream,
                tensor::TensorRef<const T, 2> dy,
                tensor::TensorRef<float, 1> out,
                Accumulate accumulate,
                std::span<std::byte> workspace) {
    const auto rows = dy.extent(0), width = dy.extent(1);
    const auto strips = (width + strip - 1) / strip;
    const auto blocks = std::min((rows + warps - 1) / warps, wanted_blocks / strips);
    const PartialSums sums{rows, width, std::max<std::int64_t>(blocks, 1), workspace};
    launch_grid(stream, "column_sum", {strips * sums.blocks, threads}, sum_rows<T>, sums, strips,
                are_rows_aligned(width, dy.data), dy.data);
    finish(stream, sums, accumulate, out);
}

ZG_REGISTER_CUDA_KERNEL(column_sum<float>);
ZG_REGISTER_CUDA_KERNEL(column_sum<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
