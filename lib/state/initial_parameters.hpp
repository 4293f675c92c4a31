/// Initial values of parameters and their master.
#pragma once

#include "device/stream.hpp"
#include "layout/families/family.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::state {

/// Selection of the tensors that get random values.
enum class RandomTensors {
    all,
    adapters,  ///< the adapters; the base weights are read from another source
};

/// Fills the master weights and parameters that this rank holds. All other state stays zero.
///
/// A value depends only on the seed, the name of its tensor and its position in the global tensor. It does
/// not depend on the layout.
///
/// \param tensor_rank  coordinate of this rank on the tensor axis
/// Source:     GPT-2: normal(init_std), projections into the residual stream over sqrt(2 layers), gains 1,
///             biases 0; adapters: layout::add_adapters.
/// Collective: local
void set_initial_values(const spec::RunSpec& spec,
                        const layout::FamilyTable& table,
                        const schedule::Program& program,
                        const device::Stream& stream,
                        layout::TensorPosition position,
                        TierMemory& memory,
                        RandomTensors drawn = RandomTensors::all);

}  // namespace ziggurat::state
