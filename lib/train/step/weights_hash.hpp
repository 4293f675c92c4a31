/// Hash of all weights, so that two trainings can be compared.
#pragma once

#include <cstdint>

#include "comm/context.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::train {

/// The sum modulo 2^64, over all blocks of layout::FlatLayout::block elements of all units' flat ranges, of
/// the block's XXH3 with a seed made of its unit, its rank on the tensor axis and its number within its
/// region, trained or frozen. Of master weights, or of the parameters where they are their own masters or
/// frozen.
///
/// Each block is hashed by the rank in whose piece over the data axis it lies, and replicas on other axes
/// count once; what pads a unit to equal pieces does not count. So the number does not depend on any shard
/// degree nor on the data degree, and nothing but 8 bytes travels.
///
/// \param program  the train program: its persistent buffers are the state
/// Collective: over `world`
std::uint64_t weights_hash(const comm::Context& world,
                           const schedule::ModelLayout& model,
                           const schedule::Program& program,
                           const state::TierMemory& memory);

}  // namespace ziggurat::train
