#include "kernels/cuda/attention_mma_launch_cuda.hpp"
#include "kernels/cuda/context/ring_arguments_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Merges the results of a warp's rows; see attention_mma_forward_cuda.hpp.
template <class Tile, class View>
__device__ void store_results(const View& of,
                              const MergedResults& results,
                              std::int64_t batch,
                              std::int64_t head,
                              int first,
                              int end,
                              float scale,
                              const float (&tops)[Tile::m_tiles][2],
                              const float (&totals)[Tile::m_tiles][2],
                              const FragmentC (&sums)[Tile::m_tiles][Tile::head_tiles],
                              const WarpLane& me) {
    float factors[Tile::m_tiles][2], keeps[Tile::m_tiles][2], lse[Tile::m_tiles][2];
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = first + 16 * m + 8 * half + me.group;
            const auto merge = results.merge(results.earlier(of, batch, head, row, end),
                                             tops[m][half] * scale, totals[m][half]);
            factors[m][half] = merge.factor;
            keeps[m][half] = merge.keep;
            lse[m][half] = merge.lse;
        }
    }
    __syncwarp();  // all lanes of a row have read the earlier lse
#pragma unroll
    for (int m = 0; m < Tile::m_tiles; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int row = first + 16 * m + 8 * half + me.group;
            if (me.pair == 0 && row < end && factors[m][half] != 0) {
                results.lse[of.lse(batch, head, row)] = lse[m][half];
            }
        }
    }
    merge_rows<Tile>(sums, factors, keeps, of.output(results.merged, batch, head), first, end, of.head_dim(),
                     me);
}

void mma_ring_forward(const device::Stream& stream,
                      const RingArguments<tensor::bfloat16>& of,
                      const MergedResults& results) {
    expect_aligned(of.qkv, of.kv, results.merged);
    launch_mma_forward(stream, of, results);
}

void mma_ring_backward(const device::Stream& stream,
                       const RingArguments<tensor::bfloat16>& of,
                       const RingGradients<tensor::bfloat16>& with,
                       std::span<std::byte> workspace) {
    expect_aligned(of.qkv, of.kv, with.out, with.d_out, with.d_q, with.d_kv);
    launch_mma_backward(stream, of, with, workspace);
}

}  // namespace ziggurat::kernels::cuda
