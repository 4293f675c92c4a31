/// Rounds of ring attention over all heads, for a set of vector operations.
///
/// Only the sources of ring attention on the host and tests include it.
#pragma once

#include "kernels/context/ring_attention.hpp"
#include "kernels/host/attention_impl.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

/// The arguments of a round, and the position of each head and block in them.
template <class T>
class RingHeads {
  public:
    RingHeads(const AttentionShape& shape,
              const RingRound& round,
              tensor::TensorRef<const T, 2> qkv,
              tensor::TensorRef<const T, 2> kv,
              tensor::TensorRef<const std::int32_t, 1> document_starts,
              const DropoutView& dropout)
        : shape_{shape},
          round_{round},
          qkv_{qkv},
          kv_{kv},
          document_starts_{document_starts},
          samples_{dropout.samples},
          mask_{dropout} {}

    std::int64_t heads_per_group() const { return shape_.heads / shape_.kv_heads; }
    std::int64_t groups() const { return shape_.batch * shape_.kv_heads; }
    std::int64_t kv_heads() const { return shape_.kv_heads; }
    int block() const { return static_cast<int>(round_.block); }
    int head_dim() const { return static_cast<int>(shape_.head_dim); }
    std::int64_t out_step() const { return shape_.heads * shape_.head_dim; }
    std::int64_t kv_step() const { return kv_.extent(1); }

    /// Returns the first row of this rank's block `q` in a sequence.
    std::int64_t row(std::int64_t batch, int q) const { return (2 * batch + q) * round_.block; }
    std::int64_t out_offset(std::int64_t batch, int q, std::int64_t head) const {
        return row(batch, q) * out_step() + head * shape_.head_dim;
    }
    std::int64_t lse_offset(std::int64_t batch, int q, std::int64_t head) const {
        return (batch * shape_.heads + head) * 2 * round_.block + q * round_.block;
    }
    /// Returns the offset of a key head in block `k` of kv; `kv_head` + kv_heads is a value head.
    std::int64_t kv_offset(std::int64_t batch, int k, std::int64_t kv_head) const {
        return (k * shape_.batch + batch) * round_.block * kv_step() + kv_head * shape_.head_dim;
    }
    tile::PackSource<T> rows_of(const T* data, std::int64_t step) const {
        return {data, step, static_cast<int>(round_.block), static_cast<int>(shape_.head_dim)};
    }

    /// Returns the queries in block `q` of a head, and the keys and values in block `k`.
    tile::Head<T> head(std::int64_t batch, std::int64_t index, int q, int k) const {
        const auto kv_head = index / heads_per_group();
        const auto key_block = round_.keys.index[k];
        return {.q = rows_of(qkv_.row(row(batch, q)) + index * shape_.head_dim, qkv_.extent(1)),
                .k = rows_of(kv_.data + kv_offset(batch, k, kv_head), kv_step()),
                .v = rows_of(kv_.data + kv_offset(batch, k, shape_.kv_heads + kv_head), kv_step()),
                .document_starts =
                    document_starts_.empty() ? nullptr : document_starts_.data + batch * shape_.seq,
                .scale = shape_.score_scale(),
                .cap = shape_.score_cap,
                .dropout = mask_,
                .sample = mask_.drops() ? static_cast<std::uint64_t>(samples_[batch]) : 0,
                .head = static_cast<std::uint32_t>(shape_.first_head + index),
                .first_row = static_cast<int>((round_.queries.index[q] - key_block) * round_.block),
                .first_position = static_cast<int>(key_block * round_.block)};
    }

    /// Calls action(k) for each block of keys that meets queries, the last one first.
    ///
    /// The first round then starts the results of each query with the keys of the query's own block.
    template <class Action>
    void for_each_key_block(const Action& action) const {
        for (int k = round_.keys.count - 1; k >= 0; --k) {
            bool is_met = false;
            for_each_query_block(k, [&](int, bool) { is_met = true; });
            if (is_met) {
                action(k);
            }
        }
    }
    /// Calls action(q, is_own) for each block of queries that meets block `k` of keys.
    template <class Action>
    void for_each_query_block(int k, const Action& action) const {
        for (int q = 0; q < round_.queries.count; ++q) {
            if (round_.meet(round_.queries.index[q], round_.keys.index[k])) {
                action(q, round_.queries.index[q] == round_.keys.index[k]);
            }
        }
    }

  private:
    AttentionShape shape_;
    RingRound round_;
    tensor::TensorRef<const T, 2> qkv_, kv_;
    tensor::TensorRef<const std::int32_t, 1> document_starts_;
    const std::int64_t* samples_;
    DropoutMask mask_;
};

/// Calls action(tiles, batch, kv_head, k) for each key head and block of keys, on concurrent workers.
template <class Tiles, class T, class Action>
void for_each_key_head(const char* name,
                       const RingHeads<T>& heads,
                       int num_threads,
                       std::span<std::byte> workspace,
                       const Action& action) {
    for_items_of_workers(name, heads.groups(), num_threads, [&](auto& items, int worker) {
        auto scratch = scratch_of(workspace, num_threads, worker);
        Tiles tiles{heads.block(), heads.head_dim(), scratch};
        for (std::int64_t group = items.next(); group >= 0; group = items.next()) {
            heads.for_each_key_block(
                [&](int k) { action(tiles, group / heads.kv_heads(), group % heads.kv_heads(), k); });
        }
    });
}

template <class T>
void round_row(const float* from, std::int64_t count, T* to) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        tensor::store(to[i], from[i]);
    }
}

template <class V, class T>
void tiled_ring_forward(int num_threads,
                        const AttentionShape& shape,
                        const RingRound& round,
                        tensor::TensorRef<const T, 2> qkv,
                        tensor::TensorRef<const T, 2> kv,
                        tensor::TensorRef<const std::int32_t, 1> document_starts,
                        const DropoutView& dropout,
                        tensor::TensorRef<float, 2> merged,
                        tensor::TensorRef<float, 3> lse,
                        tensor::TensorRef<T, 2> out,
                        std::span<std::byte> workspace) {
    using Tiles = tile::ForwardHead<V, T>;
    const RingHeads<T> heads{shape, round, qkv, kv, document_starts, dropout};
    const auto process = [&](Tiles& tiles, std::int64_t batch, std::int64_t kv_head, int k) {
        const auto first = kv_head * heads.heads_per_group();
        const auto any = heads.head(batch, first, 0, k);
        tiles.pack_keys_and_values(any.k, any.v);
        for (auto index = first; index < first + heads.heads_per_group(); ++index) {
            heads.for_each_query_block(k, [&](int q, bool is_own) {
                tiles.merge(heads.head(batch, index, q, k),
                            is_own ? Tiles::Earlier::none : Tiles::Earlier::some,
                            merged.data + heads.out_offset(batch, q, index), heads.out_step(),
                            lse.data + heads.lse_offset(batch, q, index));
            });
        }
    };
    for_each_key_head<Tiles>("ziggurat::ring_attention_forward", heads, num_threads, workspace, process);
    if (!out.empty()) {
        for_rows("ziggurat::ring_attention_forward", out.extent(0),
                 [=](std::int64_t row) { round_row(merged.row(row), out.extent(1), out.row(row)); });
    }
}

template <class V, class T>
void tiled_ring_backward(int num_threads,
                         const AttentionShape& shape,
                         const RingRound& round,
                         tensor::TensorRef<const T, 2> qkv,
                         tensor::TensorRef<const T, 2> kv,
                         tensor::TensorRef<const std::int32_t, 1> document_starts,
                         const DropoutView& dropout,
                         tensor::TensorRef<const T, 2> out,
                         tensor::TensorRef<const T, 2> d_out,
                         tensor::TensorRef<const float, 3> lse,
                         Accumulate accumulate,
                         tensor::TensorRef<float, 2> d_q,
                         tensor::TensorRef<float, 2> d_kv,
                         std::span<std::byte> workspace) {
    using Tiles = tile::BackwardHead<V, T>;
    const RingHeads<T> heads{shape, round, qkv, kv, document_starts, dropout};
    const auto process = [&](Tiles& tiles, std::int64_t batch, std::int64_t kv_head, int k) {
        const auto first = kv_head * heads.heads_per_group();
        const auto any = heads.head(batch, first, 0, k);
        tiles.begin(any.k, any.v);
        for (auto index = first; index < first + heads.heads_per_group(); ++index) {
            heads.for_each_query_block(k, [&](int q, bool is_own) {
                const auto at = heads.out_offset(batch, q, index);
                tiles.run(heads.head(batch, index, q, k), heads.rows_of(out.data + at, heads.out_step()),
                          heads.rows_of(d_out.data + at, heads.out_step()),
                          lse.data + heads.lse_offset(batch, q, index),
                          is_own ? Accumulate::no : Accumulate::yes, d_q.data + at, heads.out_step());
            });
        }
        tiles.end(any, accumulate, d_kv.data + heads.kv_offset(batch, k, kv_head),
                  d_kv.data + heads.kv_offset(batch, k, heads.kv_heads() + kv_head), heads.kv_step());
    };
    for_each_key_head<Tiles>("ziggurat::ring_attention_backward", heads, num_threads, workspace, process);
}

}  // namespace ziggurat::kernels::host
