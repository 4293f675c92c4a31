/// Launches of attention in bfloat16 on tensor cores; only *_cuda.cu files include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/contract.hpp"
#include "kernels/cuda/attention_mma_backward_cuda.hpp"
#include "kernels/cuda/attention_mma_forward_cuda.hpp"
#include "layout/cuda_workspaces.hpp"

namespace ziggurat::kernels::cuda {

/// Tiles of the three kernels for one class of head sizes.
template <class Forward_, class Queries_, class Keys_>
struct MmaTiles {
    using Forward = Forward_;
    using Queries = Queries_;  ///< for their gradients
    using Keys = Keys_;        ///< for the gradients of keys and values
};
using MmaUpTo32 = MmaTiles<MmaTile<32, 4, 1, 64, 4>, MmaTile<32, 4, 1, 64, 3>, MmaTile<32, 4, 1, 64, 2>>;
using MmaUpTo64 = MmaTiles<MmaTile<64, 4, 2, 64, 2>, MmaTile<64, 4, 2, 32, 2>, MmaTile<64, 4, 1, 32, 4>>;
using MmaUpTo128 = MmaTiles<MmaTile<128, 4, 2, 32, 2>, MmaTile<128, 4, 1, 64, 2>, MmaTile<128, 8, 1, 64, 1>>;
/// Tiles for GPUs with less shared memory; on an H100, 5 and 10 % slower in backward passes.
using SmallMmaUpTo128 =
    MmaTiles<MmaTile<128, 4, 2, 32, 2>, MmaTile<128, 4, 1, 32, 3>, MmaTile<128, 4, 1, 32, 2>>;

template <class Tile>
inline constexpr int forward_bytes = forward_elements<Tile>* static_cast<int>(sizeof(bfloat16));
template <class Tile>
inline constexpr int query_gradient_bytes = query_gradient_elements<Tile>* static_cast<int>(sizeof(bfloat16));
template <class Tile>
inline constexpr int key_gradient_bytes = key_gradient_elements<Tile>* static_cast<int>(sizeof(bfloat16));

template <class... Elements>
void expect_aligned(const Elements*... tensors) {
    constexpr std::uintptr_t alignment = 16;  // of asynchronous copies
    ZG_EXPECTS(((reinterpret_cast<std::uintptr_t>(tensors) % alignment == 0) && ...));
}

/// Calls body(tiles) with the tiles for heads of this size that fit into shared memory.
template <class Body>
void with_mma_tiles(const device::Stream& stream, std::int64_t head_dim, const Body& body) {
    if (head_dim <= 32) {
        body(MmaUpTo32{});
    } else if (head_dim <= 64) {
        body(MmaUpTo64{});
    } else if (max_shared_bytes(stream) >= key_gradient_bytes<MmaUpTo128::Keys>) {
        body(MmaUpTo128{});
    } else {
        body(SmallMmaUpTo128{});
    }
}

/// Computes results without dropout and soft caps.
///
/// \pre layout::CudaWorkspaces::has_tensor_cores
template <class View, class Results>
void launch_mma_forward(const device::Stream& stream, const View& of, const Results& results) {
    const auto heads = of.shape.batch * of.shape.heads;
    with_mma_tiles(stream, of.shape.head_dim, [&](auto tiles) {
        using Tile = typename decltype(tiles)::Forward;
        const Grid grid{heads * of.query_tiles(Tile::rows), Tile::threads, forward_bytes<Tile>};
        launch_grid(stream, "attention_forward", grid, attend_mma<Tile, View, Results>, of, heads, results);
    });
}

/// Computes gradients from the results of launch_mma_forward.
///
/// \param workspace  layout::CudaWorkspaces::attention_deltas for the rows of the sequences
template <class View, class Gradients>
void launch_mma_backward(const device::Stream& stream,
                         const View& of,
                         const Gradients& with,
                         std::span<std::byte> workspace) {
    const auto heads = of.shape.batch * of.shape.heads;
    const auto kv_heads = of.shape.batch * of.shape.kv_heads;
    const auto count = heads * of.rows();
    const layout::AttentionSizes sizes{of.shape.batch, of.rows(), of.shape.heads, of.shape.kv_heads,
                                       of.shape.head_dim};
    ZG_EXPECTS(std::ssize(workspace) >= layout::CudaWorkspaces::attention_deltas(sizes));
    expect_aligned(workspace.data());
    auto* const deltas = reinterpret_cast<float*>(workspace.data());
    const bool is_narrow = of.shape.head_dim <= 64;
    launch_grid(stream, "attention_backward of outputs", a_thread_each(count * (is_narrow ? 8 : 16)),
                is_narrow ? sum_output_products<8, View> : sum_output_products<16, View>, of, count, with.out,
                with.d_out, deltas);
    with_mma_tiles(stream, of.shape.head_dim, [&](auto tiles) {
        using Queries = typename decltype(tiles)::Queries;
        using Keys = typename decltype(tiles)::Keys;
        const Grid of_queries{heads * of.query_tiles(Queries::rows), Queries::threads,
                              query_gradient_bytes<Queries>};
        const Grid of_keys{kv_heads * of.key_tiles(Keys::rows), Keys::threads, key_gradient_bytes<Keys>};
        launch_grid(stream, "attention_backward of queries", of_queries,
                    attention_query_gradients_mma<Queries, View, Gradients>, of, heads, with, deltas);
        launch_grid(stream, "attention_backward of keys and values", of_keys,
                    attention_key_gradients_mma<Keys, View, Gradients>, of, kv_heads, with, deltas);
    });
}

}  // namespace ziggurat::kernels::cuda
