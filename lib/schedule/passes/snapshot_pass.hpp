/// Host memory for a copy of the state from which a checkpoint is written while training continues.
#pragma once

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Adds the buffer `snapshot` on the host, which holds all copied ranges one after another.
void snapshot_pass(Program& program, const ModelLayout& model);

}  // namespace ziggurat::schedule
