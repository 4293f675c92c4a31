/// Owners, among the data ranks, of the parts of a unit's flat range, for each state kind.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/flat_layout.hpp"

namespace ziggurat::layout {

/// Numbers of consecutive data ranks over which each state kind is sharded (AMSP's free partitioning).
///
/// Source: Chen et al., "AMSP: Reducing Communication Overhead of ZeRO", 2023, section 3; ZeRO 0/1/2/3 are
/// (1,1,1), (1,1,d), (1,d,d) and (d,d,d).
struct Spans {
    int parameters = 1;
    int gradients = 1;
    int optimizer = 1;
    int data = 1;  ///< degree of the data axis: number of the smallest pieces

    bool operator==(const Spans&) const = default;
};

/// Nested shards of a rank.
///
/// Its optimizer shard is part of its gradient shard, which is part of its parameter shard.
///
/// For spans 1 <= p | g | o | d the flat range is divided in p parts, each of those in g/p, and so on. Within
/// p consecutive ranks, rank r holds parameter shard r mod p. The digits of r in the mixed radix (p, g/p,
/// o/g, d/o) choose the shard at each level. Every level's shard is then a part of the next coarser shard of
/// the same rank.
///
/// d = 4, (p, g, o) = (1, 2, 4), padded to 4 blocks a b c d:
///     rank      0    1    2    3
///     gradient  ab   cd   ab   cd
///     optimizer a    c    b    d
class ShardMap {
  public:
    /// \param first_element  start of the region in the unit's flat range
    /// \pre padded_elements is a multiple of FlatLayout::block * spans.data; each span divides the next
    ShardMap(std::int64_t padded_elements, Spans spans, std::int64_t first_element = 0);

    const Spans& spans() const noexcept { return spans_; }
    std::int64_t padded_elements() const noexcept { return padded_; }

    /// Returns the index of data rank `rank`'s shard among `span` shards.
    ///
    /// \pre `span` is one of the four of `spans()`
    int shard_index(int span, int rank) const;
    /// Returns the elements of that shard, in the unit's flat range.
    ElementRange shard(int span, int rank) const;

  private:
    std::int64_t padded_;
    Spans spans_;
    std::int64_t first_;
};

/// Returns the data ranks that gather, reduce or exchange with `rank`, ascending.
///
/// These are the ranks of the same `span` consecutive ranks that differ from it only above `inner` (inner
/// divides span): {r' : r'/span == r/span, r' mod inner == r mod inner}.
std::vector<int> data_group(int rank, int inner, int span);

}  // namespace ziggurat::layout
