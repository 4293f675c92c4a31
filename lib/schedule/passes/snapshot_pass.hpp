/// Memory of the host for a copy of the state that a checkpoint is written from while training goes on.
#pragma once

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Adds the buffer `snapshot` of the host tier, which takes the runs that are copied, one behind another.
void snapshot_pass(Program& program, const ModelLayout& model);

}  // namespace ziggurat::schedule
