/// Attention over all heads, for a set of vector operations.
///
/// Only the sources of attention on the host and tests include it.
#pragma once

#include <algorithm>

#include "base/contract.hpp"
#include "kernels/attention.hpp"
#include "kernels/host/rows_host.hpp"
#include "kernels/tile/attention_backward.hpp"
#include "kernels/tile/attention_forward.hpp"
#include "layout/host_workspaces.hpp"

namespace ziggurat::kernels::host {

/// Returns true if document starts are valid.
///
/// Starts that decrease or are after their query would read uninitialized memory.
inline bool are_document_starts(const AttentionShape& shape,
                                tensor::TensorRef<const std::int32_t, 1> starts) {
    bool good = true;
    for (std::int64_t row = 0; row < starts.extent(0); ++row) {
        const auto position = row % shape.seq;
        const auto before = position == 0 ? 0 : starts.data[row - 1];
        good = good && before <= starts.data[row] && starts.data[row] <= position;
    }
    return good;
}

/// \param rows  of queries and keys that are packed at a time
inline void check_attention(const device::Stream& stream,
                            const AttentionShape& shape,
                            tensor::TensorRef<const std::int32_t, 1> document_starts,
                            int element_bytes,
                            std::int64_t rows,
                            std::span<std::byte> workspace) {
    ZG_EXPECTS(are_document_starts(shape, document_starts));
    const layout::HostWorkspaces needed{element_bytes, stream.num_threads()};
    ZG_EXPECTS(std::ssize(workspace) >= needed.attention(rows, shape.head_dim));
}

/// The arguments of a call, and the position of each head in them.
template <class T>
class AttentionHeads {
  public:
    AttentionHeads(const AttentionShape& shape,
                   tensor::TensorRef<const T, 2> qkv,
                   tensor::TensorRef<const std::int32_t, 1> document_starts,
                   const DropoutView& dropout)
        : shape_{shape},
          qkv_{qkv},
          document_starts_{document_starts},
          samples_{dropout.samples},
          mask_{dropout} {}

    std::int64_t heads_per_group() const { return shape_.heads / shape_.kv_heads; }
    std::int64_t groups() const { return shape_.batch * shape_.kv_heads; }
    std::int64_t width() const { return qkv_.extent(1); }
    int seq() const { return static_cast<int>(shape_.seq); }
    int head_dim() const { return static_cast<int>(shape_.head_dim); }

    /// Returns the offset of query head `head` in row 0 of its sequence.
    ///
    /// Key heads, then value heads follow.
    std::int64_t offset(std::int64_t batch, std::int64_t head) const {
        return batch * shape_.seq * width() + head * shape_.head_dim;
    }
    std::int64_t out_offset(std::int64_t batch, std::int64_t head) const {
        return (batch * shape_.seq * shape_.heads + head) * shape_.head_dim;
    }
    std::int64_t out_step() const { return shape_.heads * shape_.head_dim; }
    std::int64_t key_head(std::int64_t kv_head) const { return shape_.heads + kv_head; }
    std::int64_t value_head(std::int64_t kv_head) const { return shape_.heads + shape_.kv_heads + kv_head; }

    tile::PackSource<T> block(const T* data, std::int64_t step) const {
        return {data, step, seq(), head_dim()};
    }

    tile::Head<T> head(std::int64_t batch, std::int64_t index) const {
        const auto kv_head = index / heads_per_group();
        const auto of = [&](std::int64_t h) { return block(qkv_.data + offset(batch, h), width()); };
        return {of(index),
                of(key_head(kv_head)),
                of(value_head(kv_head)),
                document_starts_.empty() ? nullptr : document_starts_.data + batch * shape_.seq,
                shape_.score_scale(),
                shape_.score_cap,
                mask_,
                mask_.drops() ? static_cast<std::uint64_t>(samples_[batch]) : 0,
                static_cast<std::uint32_t>(shape_.first_head + index)};
    }

  private:
    AttentionShape shape_;
    tensor::TensorRef<const T, 2> qkv_;
    tensor::TensorRef<const std::int32_t, 1> document_starts_;
    const std::int64_t* samples_;
    DropoutMask mask_;
};

/// Returns the aligned part of the workspace of worker `index`.
inline tile::Scratch scratch_of(std::span<std::byte> workspace,
                                std::int64_t num_workers,
                                std::int64_t index) {
    const auto address = reinterpret_cast<std::uintptr_t>(workspace.data());
    const auto skipped = static_cast<std::int64_t>(-address % 64);
    const auto share = (std::ssize(workspace) - skipped) / num_workers / 64 * 64;
    return {workspace.data() + skipped + index * share, share};
}

template <class V, class T>
void tiled_attention_forward(int num_threads,
                             const AttentionShape& shape,
                             tensor::TensorRef<const T, 2> qkv,
                             tensor::TensorRef<const std::int32_t, 1> document_starts,
                             const DropoutView& dropout,
                             tensor::TensorRef<T, 2> out,
                             tensor::TensorRef<float, 3> lse,
                             std::span<std::byte> workspace) {
    const AttentionHeads<T> heads{shape, qkv, document_starts, dropout};
    for_items_of_workers(
        "ziggurat::attention_forward", heads.groups(), num_threads, [&](auto& items, int worker) {
            auto scratch = scratch_of(workspace, num_threads, worker);
            tile::ForwardHead<V, T> tiles{heads.seq(), heads.head_dim(), scratch};
            for (std::int64_t group = items.next(); group >= 0; group = items.next()) {
                const auto batch = group / shape.kv_heads;
                const auto first = group % shape.kv_heads * heads.heads_per_group();
                for (auto index = first; index < first + heads.heads_per_group(); ++index) {
                    const auto head = heads.head(batch, index);
                    if (index == first) {
                        tiles.pack_keys_and_values(head.k, head.v);
                    }
                    tiles.run(head, out.data + heads.out_offset(batch, index), heads.out_step(),
                              lse.data + (batch * shape.heads + index) * shape.seq);
                }
            }
        });
}

template <class V, class T>
void tiled_attention_backward(int num_threads,
                              const AttentionShape& shape,
                              tensor::TensorRef<const T, 2> qkv,
                              tensor::TensorRef<const std::int32_t, 1> document_starts,
                              const DropoutView& dropout,
                              tensor::TensorRef<const T, 2> out,
                              tensor::TensorRef<const T, 2> d_out,
                              tensor::TensorRef<const float, 3> lse,
                              tensor::TensorRef<T, 2> d_qkv,
                              std::span<std::byte> workspace) {
    const AttentionHeads<T> heads{shape, qkv, document_starts, dropout};
    for_items_of_workers(
        "ziggurat::attention_backward", heads.groups(), num_threads, [&](auto& items, int worker) {
            auto scratch = scratch_of(workspace, num_threads, worker);
            tile::BackwardHead<V, T> tiles{heads.seq(), heads.head_dim(), scratch};
            for (std::int64_t group = items.next(); group >= 0; group = items.next()) {
                const auto batch = group / shape.kv_heads;
                const auto kv_head = group % shape.kv_heads;
                const auto first = kv_head * heads.heads_per_group();
                const auto gradient = [&](std::int64_t h) { return d_qkv.data + heads.offset(batch, h); };
                const auto first_head = heads.head(batch, first);
                tiles.begin(first_head.k, first_head.v);
                for (auto index = first; index < first + heads.heads_per_group(); ++index) {
                    const auto at = heads.out_offset(batch, index);
                    tiles.run(heads.head(batch, index), heads.block(out.data + at, heads.out_step()),
                              heads.block(d_out.data + at, heads.out_step()),
                              lse.data + (batch * shape.heads + index) * shape.seq, Accumulate::no,
                              gradient(index), heads.width());
                }
                tiles.end(first_head, Accumulate::no, gradient(heads.key_head(kv_head)),
                          gradient(heads.value_head(kv_head)), heads.width());
            }
        });
}

}  // namespace ziggurat::kernels::host
