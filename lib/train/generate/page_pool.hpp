/// Pages of a KV cache, and the page table of the layers that use them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layout/cache/kv_cache.hpp"

namespace ziggurat::train {

/// Gives pages to the sequences of a cache. Sequences can share pages.
class PagePool {
  public:
    PagePool(std::int64_t sequences, std::int64_t pages_per_sequence, std::int64_t pages);

    /// Returns the page table, [sequences, pages of a sequence]; -1: no page.
    std::span<const std::int32_t> table() const { return table_; }
    /// Returns the page of a position; -1: none.
    std::int32_t page_of(int sequence, std::int64_t position) const {
        return table_[sequence * columns_ + position / layout::cache_page_positions];
    }
    std::int64_t num_free() const { return std::ssize(free_); }

    /// Gives the sequence the missing pages for positions [begin, end).
    ///
    /// Errors: Error{internal} if no page is free
    void extend(int sequence, std::int64_t begin, std::int64_t end);
    /// Takes from the sequence the pages that hold only positions below `position`.
    void drop_before(int sequence, std::int64_t position);
    /// Takes from the sequence the pages that hold only positions from `position` on.
    ///
    /// Errors: Error{internal} if another sequence has the page that then is not full
    void drop_after(int sequence, std::int64_t position);
    /// Takes all pages from the sequence.
    void clear(int sequence);

    /// Pages that a copy of a sequence needs to have copied; both -1: none.
    struct PageCopy {
        std::int32_t from = -1, to = -1;
    };
    /// Gives `to`, which has no pages, the first `positions` positions of `from`.
    ///
    /// Both share the pages that are full. A page that is not full becomes a page of its own.
    PageCopy share(int from, int to, std::int64_t positions);

  private:
    std::int32_t& at(int sequence, std::int64_t index) { return table_[sequence * columns_ + index]; }
    std::int32_t take();
    void release(std::int32_t& page);

    std::int64_t columns_;
    std::vector<std::int32_t> table_;
    std::vector<std::int32_t> users_;  ///< by page: the number of sequences that have it
    std::vector<std::int32_t> free_;   ///< the last one is taken first
};

}  // namespace ziggurat::train
