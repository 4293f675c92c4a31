/// Launches of attention on CUDA cores; only *_cuda.cu files include it.
#pragma once

#include <cstdint>

#include "base/contract.hpp"
#include "kernels/cuda/attention_backward_cuda.hpp"
#include "kernels/cuda/attention_forward_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Tiles for one class of head sizes; the tiles of a block take at most 48 KiB of floats.
template <class Forward_, class Queries_, class Keys_>
struct Tiles {
    using Forward = Forward_;
    using Queries = Queries_;  // for the gradients of queries
    using Keys = Keys_;
};
using UpTo32 = Tiles<AttentionTile<64, 32, 32>, AttentionTile<32, 32, 32>, AttentionTile<32, 32, 32>>;
using UpTo64 = Tiles<AttentionTile<64, 32, 64>, AttentionTile<32, 32, 64>, AttentionTile<32, 32, 64>>;
using UpTo128 = Tiles<AttentionTile<32, 32, 128>, AttentionTile<16, 32, 128>, AttentionTile<16, 16, 128>>;
using UpTo256 = Tiles<AttentionTile<16, 16, 256>, AttentionTile<8, 16, 256>, AttentionTile<8, 8, 256>>;

/// Calls body(tiles) with the tiles for heads of this size.
template <class Body>
void with_tiles(std::int64_t head_dim, const Body& body) {
    ZG_EXPECTS(head_dim <= 256);
    if (head_dim <= 32) {
        body(UpTo32{});
    } else if (head_dim <= 64) {
        body(UpTo64{});
    } else if (head_dim <= 128) {
        body(UpTo128{});
    } else {
        body(UpTo256{});
    }
}

template <class View, class Results>
void launch_attention_forward(const device::Stream& stream, const View& of, const Results& results) {
    const auto heads = of.shape.batch * of.shape.heads;
    with_tiles(of.shape.head_dim, [&](auto tiles) {
        using Tile = typename decltype(tiles)::Forward;
        launch_grid(stream, "attention_forward", {heads * of.query_tiles(Tile::queries), Tile::threads},
                    attend<Tile, View, Results>, of, heads, results);
    });
}

template <class View, class Gradients>
void launch_attention_backward(const device::Stream& stream, const View& of, const Gradients& with) {
    const auto heads = of.shape.batch * of.shape.heads;
    const auto kv_heads = of.shape.batch * of.shape.kv_heads;
    with_tiles(of.shape.head_dim, [&](auto tiles) {
        using Queries = typename decltype(tiles)::Queries;
        using Keys = typename decltype(tiles)::Keys;
        launch_grid(stream, "attention_backward of queries",
                    {heads * of.query_tiles(Queries::queries), Queries::threads},
                    attention_query_gradients<Queries, View, Gradients>, of, heads, with);
        launch_grid(stream, "attention_backward of keys and values",
                    {kv_heads * of.key_tiles(Keys::keys), Keys::threads},
                    attention_key_gradients<Keys, View, Gradients>, of, kv_heads, with);
    });
}

}  // namespace ziggurat::kernels::cuda
