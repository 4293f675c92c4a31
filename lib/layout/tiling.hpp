/// Tiles of weights, and the segments that their unit falls into.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/family.hpp"
#include "layout/flat_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// A run of a unit's parameters that is gathered and released together, and whose gradient leaves together.
struct Segment {
    int phase = -1;
    ElementRange rows;                 ///< of the phase's weight, as this rank holds it; empty: no tile
    std::vector<ElementRange> ranges;  ///< of the unit's flat range, ascending
};

/// How one unit is cut. A unit with a tile in it falls into one segment for each tile and one for every other
/// phase with parameters; a unit without is one segment, and has none of this.
///
/// A tile is a run of whole rows of a weight [out, in], so its elements lie in one piece. Its bias goes with
/// it. A lookup's tiles are rows of its table; what all tokens share (positions) is a segment behind them.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 5.1.3 (memory-centric tiling).
struct UnitTiling {
    std::vector<Segment> segments;
    std::vector<std::vector<int>> of_phase;  ///< by phase: its segments

    bool is_cut() const noexcept { return !segments.empty(); }
    /// The tiles of a phase; none where it is not cut.
    bool cuts(int phase) const;
    /// The segment that has the element of the unit's flat range; -1: none.
    int segment_at(std::int64_t element) const;
};

/// Tiles have a multiple of this many rows, but the last of a weight.
inline constexpr std::int64_t tile_rows = 16;
/// The same of the vocabulary: over so many columns at a time the loss sums its exponentials, so that tiles
/// do not change the order of that sum.
inline constexpr std::int64_t vocabulary_tile_rows = 1024;

/// Of each unit of the table.
std::vector<UnitTiling> tilings(const spec::Tiers& tiers,
                                const FamilyTable& table,
                                const std::vector<FlatLayout>& flats);

/// `rows` cut into at most `tiles` runs of equal length, in multiples of `granule`.
std::vector<ElementRange> tile_runs(std::int64_t rows, int tiles, std::int64_t granule);

}  // namespace ziggurat::layout
