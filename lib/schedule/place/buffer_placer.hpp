/// Offsets of transient buffers, densely packed or with long reuse distances.
///
/// Only placing.cpp and place_buffers.cpp include this file.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/place/free_list.hpp"
#include "schedule/place/place_buffers.hpp"
#include "schedule/place/regions.hpp"

namespace ziggurat::schedule {

/// Limit of additional memory that shortens waits, by arena (see arena_of).
///
/// A value n allows 1/n of the bytes of transient buffers; 0 means densely packed. The shared part of the
/// device and the host, apart from the region of passes, have a limit above 0.
constexpr std::array<std::int64_t, num_arenas> bytes_for_one_more{0, 8, 0, 32, 8};

/// Space that a buffer needs in an arena.
struct BufferExtent {
    std::int64_t alignment = 64;
    std::int64_t bytes = 0;
};

using RegionSizes = std::array<std::int64_t, num_regions>;

struct PlacedBuffers {
    std::vector<std::int64_t> offsets;  ///< by buffer, in its region; in its arena after in_arenas()
    RegionSizes ends{};
};

struct TransientLifetimes;

/// Placement of transient buffers region by region, in the memory after `fixed`.
class BufferPlacer {
  public:
    BufferPlacer(const Program& program,
                 const std::vector<LiveRange>& ranges,
                 const std::vector<BufferExtent>& room,
                 const RegionSizes& fixed,
                 const Regions& regions)
        : program_{program}, ranges_{ranges}, room_{room}, fixed_{fixed}, regions_{regions} {}

    /// Returns a placement with arenas as small as possible.
    PlacedBuffers close() const;

    /// Returns a placement that reuses, in arenas that may grow, the memory that has been free for longest.
    ///
    /// Release times of the previous step count too.
    ///
    /// \param ends  of close(): the size of each region before it grows
    PlacedBuffers apart(const RegionSizes& ends) const;

  private:
    std::vector<FreeList> free_after_fixed() const;
    /// Places all buffers; `round` counts the repetitions of the step.
    PlacedBuffers place(const TransientLifetimes& lives,
                        std::vector<FreeList>& free,
                        int round,
                        FitPolicy fit) const;
    /// Appends the region of passes to the host's arena.
    PlacedBuffers in_arenas(PlacedBuffers placed) const;

    const Program& program_;
    const std::vector<LiveRange>& ranges_;
    const std::vector<BufferExtent>& room_;
    const RegionSizes& fixed_;
    const Regions& regions_;
};

}  // namespace ziggurat::schedule
