/// The evaluation of multiple-choice tasks: `ziggurat eval RUN_DIR --task FILE`.
#pragma once

#include "app/cli.hpp"
#include "comm/context.hpp"

namespace ziggurat::app {

/// Prints how often a checkpoint's model chooses right, by likelihood. Rank 0 alone reads the tasks and the
/// tokenizer.
///
/// Collective: over `world`
int eval_task(const Arguments& arguments, const comm::Context& world);

}  // namespace ziggurat::app
