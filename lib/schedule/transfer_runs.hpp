/// Sets of byte ranges of a buffer.
#pragma once

#include <cstdint>

#include "base/pages.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Returns the bytes that `op` touches for a range of one of its operands.
///
/// Transfers to and from NVMe include the rest of the last page.
ByteRange touched(const Op& op, const ByteRange& run);

/// Disjoint byte ranges in ascending order; adjacent ranges are merged.
class ByteRangeSet {
  public:
    ByteRangeSet() = default;
    explicit ByteRangeSet(ByteRangeList runs);

    bool empty() const noexcept { return runs_.empty(); }
    /// \pre not empty
    std::int64_t begin() const { return runs_.front().offset; }
    std::int64_t end() const { return runs_.back().offset + runs_.back().bytes; }
    bool overlaps(const ByteRangeSet& other) const;
    ByteRangeSet without(const ByteRangeSet& other) const;
    /// Returns the part in [begin, end).
    ByteRangeSet within(std::int64_t begin, std::int64_t end) const;
    /// Returns the smallest set of whole pages that contains these ranges; no page extends past `limit`.
    ByteRangeSet in_pages(std::int64_t limit) const;
    void add(const ByteRangeSet& other);
    /// Returns the ranges with all offsets changed by `by`.
    ByteRangeList moved(std::int64_t by) const;

  private:
    ByteRangeList runs_;
};

}  // namespace ziggurat::schedule
