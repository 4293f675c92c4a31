/// Ops on state: fills, sums, norms and the optimizer.
#pragma once

#include <vector>

#include "device/stream.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"
#include "train/ops/action.hpp"

namespace ziggurat::train {

/// Context for binding state ops; it must outlive the actions.
struct StateContext {
    const spec::RunSpec& spec;
    const schedule::ModelLayout& model;
    const schedule::Program& program;
    const state::TierMemory& memory;
    const device::Stream& stream;
};

Action bind_fill(const StateContext& context, const schedule::Op& op);
Action bind_add(const StateContext& context, const schedule::Op& op);
/// Binds a norm op, which adds squares to its exact sum; an empty sum has all bits zero.
Action bind_norm(const StateContext& context, const schedule::Op& op);
/// Binds an AdamW update of one chunk; its ranges are split at changes of the parameter group.
Action bind_update(const StateContext& context, const schedule::Op& op);

}  // namespace ziggurat::train
