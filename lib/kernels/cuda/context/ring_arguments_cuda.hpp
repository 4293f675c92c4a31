/// Arguments of a round of ring attention; only context/*_cuda.cu files include it.
///
/// The kernels are those of attention in whole sequences. A sequence of a rank has two blocks of queries, and
/// in each round one or two blocks of keys: its parts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/context/ring_attention.hpp"
#include "kernels/cuda/attention_tiles_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Rows of one block. The position of a row in the whole sequence is row + offset.
struct BlockRows {
    int begin, end, offset;
};

/// Number of some of two blocks, of which the first is `first`.
struct MetBlocks {
    int first = 0, count = 0;
};

/// The arguments of a round, with the members of AttentionArguments.
///
/// Rows of queries are those of the rank's blocks of a sequence. Rows of keys begin at each block.
template <class T>
struct RingArguments {
    using Element = T;
    using Rows = BlockRows;
    static constexpr bool has_parts = true;

    AttentionShape shape;
    int block;
    int query_position[2], key_position[2];  ///< of the first row of each block
    int key_blocks;
    unsigned met;                     ///< bit 2 q + k: queries of block q may attend to keys of block k
    MetBlocks met_queries, met_keys;  ///< blocks that meet any
    const T* qkv;
    const T* kv;
    const std::int32_t* document_starts;  ///< null: all 0
    DropoutView dropout;
    float scale;
    SoftcapReader scores;  ///< with `scale` and the cap of the shape
    bool is_aligned;       ///< packs of all heads are aligned

    __host__ __device__ int seq() const { return static_cast<int>(shape.seq); }
    __host__ __device__ int rows() const { return 2 * block; }
    __device__ int head_dim() const { return static_cast<int>(shape.head_dim); }
    __device__ std::int64_t group() const { return shape.heads / shape.kv_heads; }
    __host__ __device__ bool meet(int q, int k) const { return (met >> (2 * q + k) & 1) != 0; }
    __device__ int position_of_queries(int q) const { return q == 0 ? query_position[0] : query_position[1]; }
    __device__ int position_of_keys(int k) const { return k == 0 ? key_position[0] : key_position[1]; }

    __device__ HeadRows<const T> query(std::int64_t batch, std::int64_t head) const {
        const auto width = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
        return {qkv + batch * rows() * width + head * shape.head_dim, width};
    }
    /// Returns head `index` of a block of keys in `in`: first the key heads, then the value heads.
    template <class U>
    __device__ HeadRows<U> of_keys(U* in, int part, std::int64_t batch, std::int64_t index) const {
        const auto width = 2 * shape.kv_heads * shape.head_dim;
        return {in + (part * shape.batch + batch) * block * width + index * shape.head_dim, width};
    }
    __device__ HeadRows<const T> key(int part, std::int64_t batch, std::int64_t kv_head) const {
        return of_keys(kv, part, batch, kv_head);
    }
    __device__ HeadRows<const T> value(int part, std::int64_t batch, std::int64_t kv_head) const {
        return of_keys(kv, part, batch, shape.kv_heads + kv_head);
    }
    template <class U>
    __device__ HeadRows<U> output(U* in, std::int64_t batch, std::int64_t head) const {
        return {in + (batch * rows() * shape.heads + head) * shape.head_dim, shape.heads * shape.head_dim};
    }
    __device__ std::int64_t lse(std::int64_t batch, std::int64_t head, int row) const {
        return (batch * shape.heads + head) * rows() + row;
    }
    /// Returns the position of the first key that the query at a position attends to.
    __device__ int first_key(std::int64_t batch, int query) const {
        return first_key_of(document_starts, batch * shape.seq, query, seq());
    }

    std::int64_t tiles_of_block(int size) const { return (block + size - 1) / size; }
    std::int64_t query_tiles(int size) const { return met_queries.count * tiles_of_block(size); }
    std::int64_t key_tiles(int size) const { return met_keys.count * tiles_of_block(size); }

    /// Returns the queries of a tile of `size` rows. The last tiles attend to the most keys and come first.
    __device__ Rows queries_of_tile(int tile, int size) const {
        const int tiles = (block + size - 1) / size;
        const int in_order = met_queries.count * tiles - 1 - tile;
        const int q = met_queries.first + in_order / tiles;
        return {q * block + in_order % tiles * size, (q + 1) * block, position_of_queries(q) - q * block};
    }
    /// Returns the part of the keys of a tile of `size` rows, and the keys.
    struct KeyTile {
        int part;
        Rows keys;
    };
    __device__ KeyTile keys_of_tile(int tile, int size) const {
        const int tiles = (block + size - 1) / size;
        const int k = met_keys.first + tile / tiles;
        return {k, {tile % tiles * size, block, position_of_keys(k)}};
    }

    __device__ int key_parts() const { return key_blocks; }
    /// Returns the keys of a part that queries up to row `last` meet, from a multiple of `step` on.
    __device__ Rows keys_met(int part, std::int64_t batch, const Rows& queries, int last, int step) const {
        if (!meet(queries.begin / block, part)) {
            return {0, 0, 0};
        }
        const int offset = position_of_keys(part);
        const int before = first_key(batch, queries.begin + queries.offset) - offset;
        const int after = last + queries.offset + 1 - offset;
        return {before > 0 ? before / step * step : 0, after < block ? after : block, offset};
    }
    /// Returns the end of the rows of a part of keys.
    __device__ int key_end() const { return block; }
    /// Returns the position of the last key of a part.
    __device__ int last_position(const Rows& keys) const { return block - 1 + keys.offset; }

    __device__ static constexpr int query_parts() { return 2; }
    /// Returns the queries of a part that may attend to a tile of keys, from a multiple of `step` on.
    __device__ Rows queries_met(int part, const KeyTile& tile, int step) const {
        if (!meet(part, tile.part)) {
            return {0, 0, 0};
        }
        const int position = position_of_queries(part);
        const bool are_own = position == tile.keys.offset;
        return {part * block + (are_own ? tile.keys.begin / step * step : 0), (part + 1) * block,
                position - part * block};
    }
};

/// Results that are merged with those of earlier rounds: `merged`, and `lse` in base 2.
struct MergedResults {
    static constexpr bool merges = true;

    float* merged;
    float* lse;
    bool is_first;  ///< there are no earlier rounds

    template <class View>
    __device__ float earlier(const View& of, std::int64_t batch, std::int64_t head, int row, int end) const {
        return is_first || row >= end ? 0.0f : lse[of.lse(batch, head, row)];
    }

    /// Factors of the earlier output and of the new sums, and the merged lse.
    ///
    /// Without new keys, factor is 0.
    struct Merge {
        float keep = 1, factor = 0, lse = 0;
    };
    __device__ Merge merge(float before, float top, float total) const {
        if (is_first) {
            return {0, 1.0f / total, top + std::log2(total)};
        }
        if (total == 0) {
            return {1, 0, before};
        }
        const float own = top + std::log2(total);
        const float high = fmaxf(before, own), low = fminf(before, own);
        const float all = high + std::log2(1.0f + std::exp2(low - high));
        return {std::exp2(before - all), std::exp2(top - all), all};
    }

    /// Merges the thread's part of a row of a head.
    template <class Tile, class View>
    __device__ void store(const View& of,
                          std::int64_t batch,
                          std::int64_t head,
                          int row,
                          float before,
                          float top,
                          float total,
                          const float (&sums)[Tile::lines_each][4]) const {
        const auto merge = this->merge(before, top, total);
        if (merge.factor == 0) {
            return;
        }
        merge_row<Tile>(sums, merge.factor, merge.keep, of.head_dim(),
                        of.output(merged, batch, head).row(row));
        if (thread_x() == 0) {
            lse[of.lse(batch, head, row)] = merge.lse;
        }
    }
};

/// Operands of backward, which adds gradients to those of other rounds.
template <class T>
struct RingGradients {
    const T* out;
    const T* d_out;
    const float* lse;
    float* d_q;
    float* d_kv;
    bool adds_to_d_q, adds_to_d_kv;

    template <class View>
    __device__ SumRows d_query(const View& of, std::int64_t batch, std::int64_t head) const {
        return {of.output(d_q, batch, head), adds_to_d_q};
    }
    template <class View>
    __device__ SumRows d_key(const View& of, int part, std::int64_t batch, std::int64_t kv_head) const {
        return {of.of_keys(d_kv, part, batch, kv_head), adds_to_d_kv};
    }
    template <class View>
    __device__ SumRows d_value(const View& of, int part, std::int64_t batch, std::int64_t kv_head) const {
        return {of.of_keys(d_kv, part, batch, of.shape.kv_heads + kv_head), adds_to_d_kv};
    }
};

/// Computes rounds on tensor cores, without dropout and soft caps.
///
/// \pre layout::CudaWorkspaces::has_tensor_cores; tensors begin at multiples of 16 bytes
void mma_ring_forward(const device::Stream& stream,
                      const RingArguments<tensor::bfloat16>& of,
                      const MergedResults& results);
/// \param workspace  layout::CudaWorkspaces::attention_deltas of both blocks
void mma_ring_backward(const device::Stream& stream,
                       const RingArguments<tensor::bfloat16>& of,
                       const RingGradients<tensor::bfloat16>& with,
                       std::span<std::byte> workspace);

}  // namespace ziggurat::kernels::cuda
