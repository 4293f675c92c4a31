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
/// A value n allows 1/n of the largest sum of live transient bytes, holes included; 0 means densely packed.
/// The shared part of the device and the host, apart from the region of passes, have a limit above 0. That
/// of the device is below 3 %, the limit of holes in any arena of a device.
constexpr std::array<std::int64_t, num_arenas> bytes_for_one_more{0, 8, 0, 36, 8};

/// Divisor of the limit of holes in densely packed memory: 1/n of the largest sum of live bytes.
///
/// Best fit in list order is kept within this limit, because it reuses memory that is still in caches.
constexpr std::int64_t bytes_for_one_of_holes = 40;
/// Holes that are too small to search for a better packing.
constexpr std::int64_t small_holes = std::int64_t{1} << 16;

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

    /// Returns a dense placement, with few or no holes at the op with the most live bytes.
    ///
    /// A region is first placed in list order, by best fit. If that leaves too many holes, for example
    /// because the micro-batches of a pipeline allocate and release buffers in different orders, it is packed
    /// with all live ranges known (see pack_buffers). Only regions of the device are packed: the host has
    /// free memory to shorten waits anyway, and searches place many programs with state there.
    ///
    /// \param min  of min_ends()
    PlacedBuffers close(const RegionSizes& min) const;

    /// Returns the ends of the regions if those of the host are placed densely.
    ///
    /// \param ends  of close() for other regions of the host: those of the device are equal
    RegionSizes close_on_host(RegionSizes ends) const;

    /// Returns a lower bound of each region's end: fixed buffers and the largest sum of live bytes.
    RegionSizes min_ends() const;

    /// Returns a placement that reuses, in arenas that may grow, the memory that has been free for longest.
    ///
    /// Release times of the previous step count too.
    ///
    /// \param ends  of close() or close_on_host(): the size of each region before it grows
    PlacedBuffers apart(const RegionSizes& ends) const;

  private:
    std::vector<FreeList> free_after_fixed() const;
    /// Packs the buffers of a region, and keeps the result if it makes the region smaller.
    ///
    /// The region then has 1/bytes_for_one_of_holes of holes, or more if the packing needs them, but not
    /// fewer.
    ///
    /// \param enough  an end of the region that needs no further search
    void pack(std::size_t region, std::int64_t enough, PlacedBuffers& placed) const;
    /// True if the buffer is transient and needs memory.
    bool is_placed(std::size_t buffer) const;
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
