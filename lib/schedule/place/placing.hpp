/// Offsets of transient buffers, close or apart; only place_*.cpp includes it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/place/free_list.hpp"
#include "schedule/place/place_buffers.hpp"
#include "schedule/place/regions.hpp"

namespace ziggurat::schedule {

/// One in so many bytes of transient buffers may be paid for waiting less, by arena (see arena_of): what the
/// device shares, and the host, besides the region of passes. The others have buffers as close as can be.
constexpr std::array<std::int64_t, num_arenas> bytes_for_one_more{0, 8, 0, 32, 8};

/// What a buffer takes of an arena.
struct Room {
    std::int64_t alignment = 64;
    std::int64_t bytes = 0;
};

using RegionSizes = std::array<std::int64_t, num_regions>;

struct PlacedBuffers {
    std::vector<std::int64_t> offsets;  ///< by buffer, in its region; behind in_arenas in its arena
    RegionSizes ends{};
};

struct Lives;

/// Places transient buffers region by region, first in what is free behind `fixed`.
class Placing {
  public:
    Placing(const Program& program,
            const std::vector<LiveRange>& ranges,
            const std::vector<Room>& room,
            const RegionSizes& fixed,
            const Regions& regions)
        : program_{program}, ranges_{ranges}, room_{room}, fixed_{fixed}, regions_{regions} {}

    /// Arenas as small as can be.
    PlacedBuffers close() const;

    /// The buffers of arenas that may grow where memory has been free for longest, since the last step if
    /// need be.
    ///
    /// \param ends  of close(): what they have before they grow
    PlacedBuffers apart(const RegionSizes& ends) const;

  private:
    std::vector<FreeList> free_behind_fixed() const;
    /// The `round`-th time around the cycle of steps.
    PlacedBuffers place(const Lives& lives, std::vector<FreeList>& free, int round, Fit fit) const;
    /// With the region of passes behind the host's arena, as part of it.
    PlacedBuffers in_arenas(PlacedBuffers placed) const;

    const Program& program_;
    const std::vector<LiveRange>& ranges_;
    const std::vector<Room>& room_;
    const RegionSizes& fixed_;
    const Regions& regions_;
};

}  // namespace ziggurat::schedule
