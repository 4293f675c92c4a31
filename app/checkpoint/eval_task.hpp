/// Evaluation of multiple-choice tasks: `ziggurat eval RUN_DIR --task FILE`.
#pragma once

#include <optional>

#include "app/checkpoint/checkpoint_options.hpp"
#include "app/checkpoint/trained_model.hpp"
#include "comm/context.hpp"

namespace ziggurat::app {

/// Prints the accuracy of `model`, which chooses by likelihood.
///
/// Only rank 0 reads the tasks and the tokenizer. Returns the exit code; empty as with_weights().
///
/// Collective: over `world`
std::optional<int> eval_task(const EvalOptions& options, const comm::Context& world, TrainedModel& model);

}  // namespace ziggurat::app
