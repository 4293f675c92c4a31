/// The evaluation of multiple-choice tasks: `ziggurat eval RUN_DIR --task FILE`.
#pragma once

#include <optional>

#include "app/cli.hpp"
#include "app/trained_model.hpp"
#include "comm/context.hpp"

namespace ziggurat::app {

/// Prints how often `model` chooses right, by likelihood. Rank 0 alone reads the tasks and the tokenizer. The
/// exit code; nothing as of with_weights().
///
/// Collective: over `world`
std::optional<int> eval_task(const Arguments& arguments, const comm::Context& world, TrainedModel& model);

}  // namespace ziggurat::app
