/// Dense packing of buffers whose live ranges are all known.
///
/// Only files of this folder and its tests include this file.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/place/place_buffers.hpp"

namespace ziggurat::schedule {

struct BufferToPack {
    LiveRange life;
    std::int64_t bytes = 0;  ///< above 0
    std::int64_t alignment = 1;
};

struct PackedOffsets {
    std::vector<std::int64_t> offsets;  ///< by buffer
    std::int64_t end = 0;
};

/// Packs buffers one after the other, each at its lowest free offset.
///
/// Tries the orders by size, by length of life and by their product, and returns the smallest result. If none
/// ends at `enough` or below, it repeats each order, every time with the highest buffer moved halfway to the
/// front. The number of repetitions is bounded, so the time is about linear in the number of buffers. The
/// same buffers always get the same offsets.
///
/// \param begin   the first offset that a buffer may have
/// \param enough  the search stops at a packing that ends here or below
PackedOffsets pack_buffers(std::vector<BufferToPack> buffers, std::int64_t begin, std::int64_t enough);

}  // namespace ziggurat::schedule
