/// Regions of memory that transient buffers are placed in one by one; only place_*.cpp includes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// The parts of memory that buffers are placed in one by one: the arenas, and what passes use of the host's
/// memory. That lies behind all else in the host's arena where it is a region of its own.
constexpr std::size_t num_regions = num_arenas + 1;
constexpr std::size_t of_passes = num_arenas;
constexpr std::size_t host_arena = 1;
static_assert(tier_of_arena(host_arena) == spec::Tier::host);

/// Activations get one in so many bytes of the host's arena in the region of passes.
constexpr std::int64_t bytes_for_one_of_activations = 4;

using Regions = std::vector<std::size_t>;  ///< by buffer

/// Of each buffer its arena.
Regions arenas_of(const Program& program);

/// With memory of its own for what goes through the host for forward and backward: parameters that NVMe reads
/// for other ops than updates, gradients that leave the device, and the first activations that do, up to so
/// many bytes. States from NVMe fill the arena while they are read ahead, updated and written, and passes
/// would have to wait for the last of them.
Regions with_region_of_passes(const Program& program, Regions regions, std::int64_t activation_bytes);

}  // namespace ziggurat::schedule
