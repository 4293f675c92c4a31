/// Ops that work on state rather than on values: fills, sums, norms and the optimizer.
#pragma once

#include <vector>

#include "device/stream.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"
#include "train/step/action.hpp"

namespace ziggurat::train {

/// Surroundings that state ops are bound with; must outlive the actions.
struct StateContext {
    const spec::RunSpec& spec;
    const schedule::ModelLayout& model;
    const schedule::Program& program;
    const state::TierMemory& memory;
    const device::Stream& stream;
};

Action bind_fill(const StateContext& context, const schedule::Op& op);
Action bind_add(const StateContext& context, const schedule::Op& op);
/// Adds squares to the op's exact sum: all bits zero is an empty one.
Action bind_norm(const StateContext& context, const schedule::Op& op);
/// AdamW on the runs of one chunk, each cut where the parameter group changes.
Action bind_update(const StateContext& context, const schedule::Op& op);

}  // namespace ziggurat::train
