/// Sets of byte ranges of a buffer.
#pragma once

#include <cstdint>

#include "base/pages.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Returns the bytes that `op` touches for a range of one of its operands.
///
/// Transfers to and from NVMe include the rest of the last page.
ByteRun touched(const Op& op, const ByteRun& run);

/// Disjoint byte ranges in ascending order; adjacent ranges are merged.
class ByteRuns {
  public:
    ByteRuns() = default;
    explicit ByteRuns(ByteRunList runs);

    bool empty() const noexcept { return runs_.empty(); }
    /// \pre not empty
    std::int64_t begin() const { return runs_.front().offset; }
    std::int64_t end() const { return runs_.back().offset + runs_.back().bytes; }
    bool overlaps(const ByteRuns& other) const;
    ByteRuns without(const ByteRuns& other) const;
    /// Returns the part in [begin, end).
    ByteRuns within(std::int64_t begin, std::int64_t end) const;
    /// Returns the smallest set of whole pages that contains these ranges; no page extends past `limit`.
    ByteRuns in_pages(std::int64_t limit) const;
    void add(const ByteRuns& other);
    /// Returns the ranges with all offsets changed by `by`.
    ByteRunList moved(std::int64_t by) const;

  private:
    ByteRunList runs_;
};

}  // namespace ziggurat::schedule
