/// Sizes of what the arenas of a program hold.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/place/place_buffers.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// Bytes of each arena, by what holds them.
struct ArenaSizes {
    std::array<std::int64_t, schedule::num_arenas> fixed{};  ///< of what lives as long as the program
    std::array<std::int64_t, schedule::num_arenas> end{};    ///< of where that lies
    std::array<std::int64_t, schedule::num_arenas> peak{};   ///< most of the others at one op
};

/// Of `program`, whose buffers live so long (see schedule::live_ranges).
ArenaSizes arena_sizes(const schedule::Program& program, const std::vector<schedule::LiveRange>& ranges);

}  // namespace ziggurat::plan
