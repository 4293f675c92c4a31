/// Regions of memory in which transient buffers are placed separately.
///
/// Only files of this folder include this file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Number of regions: the arenas, and the part of the host's memory that passes use.
///
/// If that part is used, it lies at the end of the host's arena.
constexpr std::size_t num_regions = num_arenas + 1;
constexpr std::size_t of_passes = num_arenas;
constexpr std::size_t host_arena = 1;
static_assert(tier_of_arena(host_arena) == spec::Tier::host);

/// Divisor of the host's transient bytes: activations get 1/n of them in the region of passes.
constexpr std::int64_t bytes_for_one_of_activations = 4;

using Regions = std::vector<std::size_t>;  ///< by buffer

/// Returns the arena of each buffer.
Regions arenas_of(const Program& program);

/// Moves buffers that forward and backward use on the host from the host arena to the region of passes.
///
/// These are: parameters that NVMe reads for other ops than updates, gradients that leave the device, and the
/// first offloaded activations, up to `activation_bytes`. State from NVMe fills the arena while it is read
/// ahead, updated and written; without the region, passes would wait for the last of it.
Regions with_region_of_passes(const Program& program, Regions regions, std::int64_t activation_bytes);

}  // namespace ziggurat::schedule
