/// Sets of bytes of a buffer.
#pragma once

#include <cstdint>

#include "base/pages.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// The bytes that `op` touches for the sake of a run of one of its operands: what goes to NVMe or comes from
/// there takes the rest of its last page with it.
ByteRun touched(const Op& op, const ByteRun& run);

/// Disjoint runs in ascending order, joined where they touch.
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
    /// What lies in [begin, end).
    ByteRuns within(std::int64_t begin, std::int64_t end) const;
    /// The least runs of whole pages that hold these, none behind `limit`.
    ByteRuns in_pages(std::int64_t limit) const;
    void add(const ByteRuns& other);
    /// The runs at other offsets.
    ByteRunList moved(std::int64_t by) const;

  private:
    ByteRunList runs_;
};

}  // namespace ziggurat::schedule
