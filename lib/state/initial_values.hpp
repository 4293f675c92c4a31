/// Initial values of parameters and their master.
#pragma once

#include "device/stream.hpp"
#include "layout/family.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::state {

/// Tensors that are drawn.
enum class DrawnTensors {
    all,
    adapters,  ///< for a base whose weights come from elsewhere
};

/// Fills the master weights and parameters that this rank holds; every other state is zero, as arenas are.
///
/// A value depends on the seed, its tensor's name and its place in the global tensor alone: not on the
/// layout.
///
/// \param tensor_rank  coordinate of this rank on the tensor axis
/// Source:     GPT-2: normal(init_std), projections into the residual stream over sqrt(2 layers), gains 1,
/// biases 0; adapters: layout::add_adapters. Collective: local
void set_initial_values(const spec::RunSpec& spec,
                        const layout::FamilyTable& table,
                        const schedule::Program& program,
                        const device::Stream& stream,
                        int tensor_rank,
                        TierMemory& memory,
                        DrawnTensors drawn = DrawnTensors::all);

}  // namespace ziggurat::state
