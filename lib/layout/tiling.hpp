/// Tiles of weights, and the segments into which they divide a unit.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/families/family.hpp"
#include "layout/flat_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// A part of a unit's parameters that is gathered, released and reduced together.
struct Segment {
    int phase = -1;
    ElementRange rows;                 ///< of the phase's weight, as this rank holds it; empty: no tile
    std::vector<ElementRange> ranges;  ///< of the unit's flat range, ascending
};

/// Division of one unit into segments.
///
/// A unit with tiles has one segment for each tile and one for every other phase with parameters. A unit
/// without tiles is one segment, and its tiling is empty.
///
/// A tile is a range of whole rows of a weight [out, in], so its elements are contiguous. Its bias belongs to
/// it. A lookup's tiles are rows of its table. A table that all tokens share (positions) is a separate
/// segment after them. So are the adapters of a tiled product, which are not cut.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 5.1.3 (memory-centric tiling).
struct UnitTiling {
    std::vector<Segment> segments;
    std::vector<std::vector<int>> of_phase;  ///< indexed by phase: its segments

    bool is_cut() const noexcept { return !segments.empty(); }
    /// Returns true if the phase is divided into tiles.
    bool cuts(int phase) const;
    /// Returns the segment that contains the element of the unit's flat range; -1 if no segment does.
    int segment_at(std::int64_t element) const;
};

/// Number of rows of which tiles have a multiple, except the last tile of a weight.
inline constexpr std::int64_t tile_rows = 16;
/// The same for the vocabulary.
///
/// The loss sums its exponentials over this number of columns at a time, so tiles do not change the sum's
/// order.
inline constexpr std::int64_t vocabulary_tile_rows = 1024;

/// Returns the tiling of each unit of the table.
std::vector<UnitTiling> tilings(const spec::Tiers& tiers,
                                const FamilyTable& table,
                                const std::vector<FlatLayout>& flats);

/// Divides `rows` into at most `tiles` ranges of equal length, in multiples of `granule`.
std::vector<ElementRange> tile_runs(std::int64_t rows, int tiles, std::int64_t granule);

}  // namespace ziggurat::layout
