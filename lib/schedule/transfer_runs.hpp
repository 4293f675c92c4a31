/// Sets of bytes of a buffer.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Disjoint runs in ascending order, joined where they touch.
class ByteRuns {
  public:
    ByteRuns() = default;
    explicit ByteRuns(std::vector<Run> runs);

    bool empty() const noexcept { return runs_.empty(); }
    /// \pre not empty
    std::int64_t begin() const { return runs_.front().offset; }
    std::int64_t end() const { return runs_.back().offset + runs_.back().bytes; }
    bool overlaps(const ByteRuns& other) const;
    ByteRuns without(const ByteRuns& other) const;
    void add(const ByteRuns& other);
    /// The runs at other offsets.
    std::vector<Run> moved(std::int64_t by) const;

  private:
    std::vector<Run> runs_;
};

}  // namespace ziggurat::schedule
