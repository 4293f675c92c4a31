/// Sizes of a KV cache: keys and values of earlier tokens, which attention reads in inference.
///
/// Each layer has a cache of its own, in pages. A page holds the keys and the values of some positions of one
/// sequence, for all heads of this rank: [2, kv_heads, cache_page_positions, head_dim]. A page table gives
/// the page of each position. Sequences can share pages of a common beginning.
///
/// Source: Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention",
/// 2023, section 4.
#pragma once

#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Positions of one page.
inline constexpr int cache_page_positions = 64;

/// Layers whose pages one page table gives.
enum class CacheLayers { without_window, with_window };

/// Numbers of pages and of sequences; the same on all ranks.
struct CacheSizes {
    std::int64_t sequences = 0;           ///< rows of the page tables; 0: no cache
    std::int64_t pages_per_sequence = 0;  ///< columns of the page tables
    std::int64_t pages = 0;               ///< of each layer whose attention has no window
    std::int64_t window_pages = 0;        ///< of each layer with a window; 0: no layer has one

    bool operator==(const CacheSizes&) const = default;
};

/// Returns the number of pages of `positions` positions.
std::int64_t cache_pages(std::int64_t positions);

/// Returns the sizes of the cache of `passes`.
CacheSizes cache_sizes(const spec::RunSpec& run, const spec::CachedPasses& passes);

/// Returns the number of rows of a pass whose logits the host gets: all of a pass that generates texts.
///
/// Passes with more rows than texts that are generated together compute losses.
std::int64_t kept_logits(std::int64_t rows);

/// Returns the bytes of one page of one layer on one rank.
std::int64_t cache_page_bytes(const spec::RunSpec& run);

}  // namespace ziggurat::layout
