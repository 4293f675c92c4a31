/// Attention to a KV cache, for a set of vector operations.
///
/// Only the source of this kernel on the host and tests include it.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"
#include "kernels/host/attention_impl.hpp"
#include "kernels/tile/attention_cached.hpp"
#include "layout/cache/kv_cache.hpp"

namespace ziggurat::kernels::host {

/// Rows of a call, and the cache that they extend.
template <class T>
struct CachedRows {
    AttentionShape shape;
    std::int64_t window;
    tensor::TensorRef<const T, 2> qkv;
    const std::int32_t* positions;
    const std::int32_t* sequences;
    tensor::TensorRef<const std::int32_t, 2> page_table;
    tensor::TensorRef<T, 4> cache;

    static constexpr int page = layout::cache_page_positions;

    bool is_used(std::int64_t row) const { return sequences[row] >= 0; }
    std::int64_t heads_per_group() const { return shape.heads / shape.kv_heads; }
    std::int64_t head_elements() const { return page * shape.head_dim; }
    std::int64_t page_elements() const { return 2 * shape.kv_heads * head_elements(); }
    const std::int32_t* pages_of(std::int64_t row) const { return page_table.row(sequences[row]); }

    /// True if every page that the row needs exists.
    bool has_pages(std::int64_t row) const {
        if (!is_used(row)) {
            return true;
        }
        const auto position = positions[row];
        const auto start = window > 0 ? std::max<std::int64_t>(0, position - window + 1) : 0;
        if (position < 0 || sequences[row] >= page_table.extent(0) ||
            position / page >= page_table.extent(1)) {
            return false;
        }
        const auto* pages = pages_of(row);
        return std::all_of(pages + start / page, pages + position / page + 1,
                           [&](std::int32_t p) { return p >= 0 && p < cache.extent(0); });
    }

    /// True if the row continues the sequence of the row before it.
    bool continues(std::int64_t row) const {
        return row > 0 && sequences[row] == sequences[row - 1] && positions[row] == positions[row - 1] + 1;
    }

    /// Returns the number of rows of the tile that begins at `row`; 0 if none begins there.
    int rows_of_tile(std::int64_t row, int max_rows) const {
        if (!is_used(row) || (row % max_rows != 0 && continues(row))) {
            return 0;
        }
        auto end = row + 1;
        while (end < shape.seq && end % max_rows != 0 && continues(end)) {
            ++end;
        }
        return static_cast<int>(end - row);
    }

    /// Stores the keys and values of a row.
    void store(std::int64_t row) const {
        const auto position = positions[row];
        auto* to =
            cache.data + pages_of(row)[position / page] * page_elements() + position % page * shape.head_dim;
        const auto* from = qkv.row(row) + shape.heads * shape.head_dim;
        for (std::int64_t head = 0; head < 2 * shape.kv_heads; ++head) {
            std::memcpy(to + head * head_elements(), from + head * shape.head_dim,
                        static_cast<std::size_t>(shape.head_dim) * sizeof(T));
        }
    }
};

template <class V, class T>
void tiled_cached_attention(int num_threads,
                            const CachedRows<T>& of,
                            tensor::TensorRef<T, 2> out,
                            std::span<std::byte> workspace) {
    using Group = tile::CachedGroup<V, T>;
    const auto& shape = of.shape;
    for_rows("ziggurat::cached_attention_store", shape.seq, [&](std::int64_t row) {
        if (of.is_used(row)) {
            of.store(row);
        } else {
            std::fill_n(out.row(row), out.extent(1), T{});
        }
    });
    const auto group = of.heads_per_group();
    for_items_of_workers("ziggurat::cached_attention", shape.seq * shape.kv_heads, num_threads,
                         [&](auto& items, int worker) {
                             auto scratch = scratch_of(workspace, num_threads, worker);
                             Group heads{static_cast<int>(group), static_cast<int>(shape.head_dim), scratch};
                             for (auto item = items.next(); item >= 0; item = items.next()) {
                                 const auto row = item / shape.kv_heads;
                                 const auto kv_head = item % shape.kv_heads;
                                 const int rows = of.rows_of_tile(row, Group::max_rows);
                                 if (rows == 0) {
                                     continue;
                                 }
                                 const auto first = kv_head * group * shape.head_dim;
                                 const T* keys = of.cache.data + kv_head * of.head_elements();
                                 heads.run({.q = of.qkv.row(row) + first,
                                            .q_step = of.qkv.extent(1),
                                            .rows = rows,
                                            .first_position = of.positions[row],
                                            .pages = of.pages_of(row),
                                            .keys = keys,
                                            .values = keys + shape.kv_heads * of.head_elements(),
                                            .page_step = of.page_elements(),
                                            .scale = shape.score_scale(),
                                            .cap = shape.score_cap,
                                            .window = static_cast<int>(of.window),
                                            .out = out.row(row) + first,
                                            .out_step = out.extent(1)});
                             }
                         });
}

}  // namespace ziggurat::kernels::host
