/// Sizes of the contents of a program's arenas.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/place/place_buffers.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// Bytes of each arena, by kind of content.
struct ArenaSizes {
    std::array<std::int64_t, schedule::num_arenas> fixed{};  ///< buffers that live as long as the program
    std::array<std::int64_t, schedule::num_arenas> end{};    ///< end of these buffers in the arena
    std::array<std::int64_t, schedule::num_arenas> peak{};   ///< maximum of the others at one op
};

/// Returns the sizes for `program`, whose buffers have these live ranges (see schedule::live_ranges).
ArenaSizes arena_sizes(const schedule::Program& program, const std::vector<schedule::LiveRange>& ranges);

}  // namespace ziggurat::plan
