/// Memory of an arena that placed buffers occupy at each op.
///
/// Only files of this folder and its tests include this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/place/place_buffers.hpp"

namespace ziggurat::schedule {

/// Union of address ranges: sorted, disjoint, and merged if they touch.
class AddressRanges {
  public:
    struct Range {
        std::int64_t begin = 0;
        std::int64_t end = 0;

        bool operator==(const Range&) const = default;
    };

    void add(std::int64_t begin, std::int64_t end);

    const std::vector<Range>& ranges() const noexcept { return ranges_; }

  private:
    std::vector<Range> ranges_;
};

/// Occupied address ranges by op, in a segment tree over the ops.
///
/// A tree node represents a span of ops. Neighbouring buffers merge to one range, so the time of a search
/// depends on the number of gaps, not on the number of buffers.
class MemoryTimeline {
  public:
    /// \param begin  the first offset that a buffer may have
    MemoryTimeline(std::size_t num_ops, std::int64_t begin);

    /// Occupies the lowest offset at which `bytes` are free during all of `life`, and returns it.
    ///
    /// \pre bytes > 0
    std::int64_t take(LiveRange life, std::int64_t bytes, std::int64_t alignment);

    /// Returns the end of the highest buffer.
    std::int64_t end() const noexcept { return end_; }

  private:
    struct Node {
        AddressRanges throughout;  ///< of buffers that live at all ops of the node, but not of its parent
        AddressRanges at_any_op;   ///< of buffers that live at one of its ops or more
    };
    /// Part of a node's ranges that a search has not passed.
    struct Cursor {
        const AddressRanges::Range* next = nullptr;
        const AddressRanges::Range* last = nullptr;
    };

    /// Appends the ranges that are occupied at one op of `life` or more.
    void collect(std::size_t node, int first, int last, LiveRange life);
    void occupy(std::size_t node, int first, int last, LiveRange life, std::int64_t begin, std::int64_t end);
    void add_cursor(const AddressRanges& ranges);

    int last_op_ = 0;
    std::int64_t begin_ = 0;
    std::int64_t end_ = 0;
    std::vector<Node> nodes_;      ///< node 1 is the root; the children of node n are 2n and 2n + 1
    std::vector<Cursor> cursors_;  ///< of the current search; a member to reuse its memory
};

}  // namespace ziggurat::schedule
