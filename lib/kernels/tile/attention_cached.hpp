/// Attention of queries to a KV cache, for the query heads that share a head of keys and values.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/tile/attention_forward.hpp"
#include "layout/cache/kv_cache.hpp"

namespace ziggurat::kernels::tile {

/// Consecutive tokens of one sequence, and the pages of the keys and values that they attend to.
template <class T>
struct CachedTile {
    const T* q;                 ///< first query head of the group in the first token's row
    std::int64_t q_step;        ///< elements between rows of q
    int rows, first_position;   ///< tokens, and the position of the first one
    const std::int32_t* pages;  ///< pages of the sequence, by position / layout::cache_page_positions
    const T* keys;              ///< head of keys in page 0 of the cache: [positions of a page, head_dim]
    const T* values;            ///< the same for values
    std::int64_t page_step;     ///< elements between pages of the cache
    float scale, cap;           ///< see Head
    int window;                 ///< see Head
    T* out;                     ///< output of the first query head in the first token's row
    std::int64_t out_step;      ///< elements between rows of out
};

/// Computes tiles with the arithmetic of ForwardHead, and therefore with its bits.
///
/// Keys and values are packed one time for all heads of the group, in blocks of forward_keys.
template <class V, class T>
class CachedGroup : ForwardHead<V, T> {
    using Base = ForwardHead<V, T>;
    using Base::pair;

  public:
    /// Maximum number of tokens of a tile.
    static constexpr int max_rows = 48;

    CachedGroup(int heads, int head_dim, Scratch& scratch)
        : Base{max_rows, forward_keys, head_dim, scratch},
          heads_{heads},
          head_dim_{head_dim},
          num_sums_{this->size_.panels * forward_queries * tile_columns},
          queries_of_heads_{scratch.take<std::uint32_t>(heads * this->query_size_.columns())},
          sums_of_heads_{scratch.take<float>(heads * num_sums_)},
          maxima_of_heads_{scratch.take<float>(heads * forward_queries)},
          totals_of_heads_{scratch.take<float>(heads * forward_queries)} {}

    void run(const CachedTile<T>& tile) {
        const Head<T> head = head_of(tile);
        for (int h = 0; h < heads_; ++h) {
            use(h);
            pack_left<V>(PackSource<T>{tile.q + h * head_dim_, tile.q_step, tile.rows, head_dim_},
                         this->queries_);
        }
        std::memset(sums_of_heads_, 0, static_cast<std::size_t>(heads_ * num_sums_) * sizeof(float));
        std::fill_n(maxima_of_heads_, heads_ * forward_queries, lowest_maximum);
        std::fill_n(totals_of_heads_, heads_ * forward_queries, 0.0f);
        const int last = tile.first_position + tile.rows;
        const int first_key = head.first_key(tile.first_position) / page * page;
        for (int block = first_key / forward_keys * forward_keys; block < last; block += forward_keys) {
            const int begin = std::max(block, first_key);
            const int end = std::min(block + forward_keys, last);
            pack_pages(tile, block, begin, end);
            for (int h = 0; h < heads_; ++h) {
                use(h);
                for (int row = 0; row < tile.rows; row += tile_rows) {
                    attend(head, tile.first_position + row, std::min(tile_rows, tile.rows - row), row, block);
                }
            }
        }
        for (int h = 0; h < heads_; ++h) {
            use(h);
            for (int row = 0; row < tile.rows; ++row) {
                this->write(head, row, tile.out + row * tile.out_step + h * head_dim_);
            }
        }
    }

  private:
    static constexpr int page = layout::cache_page_positions;
    static_assert(page == tile_columns && forward_keys % page == 0 && max_rows <= forward_queries);

    Head<T> head_of(const CachedTile<T>& tile) const {
        Head<T> head{};
        head.q = {tile.q, tile.q_step, tile.rows, head_dim_};
        head.k.rows = tile.first_position + tile.rows;  // pack_pages() packs them
        head.scale = tile.scale;
        head.cap = tile.cap;
        head.first_row = tile.first_position;
        head.window = tile.window;
        return head;
    }

    /// Makes query head `h` of the group the one that the base class works on.
    void use(int h) {
        this->queries_ = queries_of_heads_ + h * this->query_size_.columns();
        this->sums_ = sums_of_heads_ + h * num_sums_;
        this->maxima_ = maxima_of_heads_ + h * forward_queries;
        this->totals_ = totals_of_heads_ + h * forward_queries;
    }

    /// Returns the words of the packed values of one page.
    std::int64_t words_of_page() const { return this->size_.panels * (page / pair) * tile_columns; }

    /// Packs the keys and values at positions [begin, end) of the block; `begin` is that of a page.
    void pack_pages(const CachedTile<T>& tile, int block, int begin, int end) {
        this->first_packed_ = block;
        for (int at = begin; at < end; at += page) {
            const auto offset = tile.pages[at / page] * tile.page_step;
            const int rows = std::min(page, end - at);
            pack_transposed<V>(PackSource<T>{tile.keys + offset, head_dim_, rows, head_dim_},
                               this->keys_ + (at - block) * this->size_.words_per_row);
            pack_columns<V>(PackSource<T>{tile.values + offset, head_dim_, rows, head_dim_},
                            this->values_ + (at - block) / page * words_of_page());
        }
    }

    /// Processes the tokens at positions [row, row + rows) with the keys of the block.
    void attend(const Head<T>& head, int row, int rows, int slot, int block) {
        const int first = std::max(block, head.first_key(row) / page * page);
        const int last = std::min(block + forward_keys, head.end_key(row + rows - 1));
        if (first >= last) {
            return;
        }
        with_rows(rows, [&](auto count) {
            constexpr int R = count;
            typename V::Float top[R];
            this->template score<R>(head, row, first, last, top);
            this->template weigh<R>(head, row, slot, first, last, top);
            for (int key = first; key < last; key += page) {
                accumulate_rows<V, T, forward_keys / pair, 1, R>(
                    this->weights_ + (key - first) / pair,
                    this->values_ + (key - block) / page * words_of_page(), (page / pair) * tile_columns,
                    divide_up(std::min(last - key, page), pair), this->sums_ + slot * tile_columns,
                    forward_queries * tile_columns, head_dim_);
            }
        });
    }

    int heads_, head_dim_;
    std::int64_t num_sums_;  ///< elements of one head's accumulators
    std::uint32_t* queries_of_heads_;
    float* sums_of_heads_;
    float* maxima_of_heads_;
    float* totals_of_heads_;
};

}  // namespace ziggurat::kernels::tile
