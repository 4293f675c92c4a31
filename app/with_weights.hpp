/// The weights of a checkpoint, in a layout for the ranks at hand.
#pragma once

#include <functional>
#include <optional>

#include "app/cli.hpp"
#include "app/trained_model.hpp"
#include "base/progress.hpp"
#include "comm/context.hpp"
#include "spec/run_spec.hpp"
#include "train/inference.hpp"

namespace ziggurat::app {

/// The run of `model` as one that evaluates on the ranks at hand, in the number type that the line asks for.
spec::RunSpec evaluated_run(const Arguments& arguments, const TrainedModel& model);

/// Loads the weights of `model`, lets its files go, and gives what `work` gives, an exit code. People see how
/// far loading is; the progress line stays until `work` ends it. Nothing where the checkpoint was removed
/// while it was read, and there is another (with_trained_model()).
///
/// \param run  of evaluated_run(), or made of it
/// Collective: over `world`
/// Errors:     3, after rank 0 has shown the plan, when the run does not fit here; Error{checkpoint},
///             Error{resource} as Inference has them
std::optional<int> with_weights(TrainedModel& model,
                                const spec::RunSpec& run,
                                const comm::Context& world,
                                const std::function<int(train::Inference&, Progress&)>& work);

}  // namespace ziggurat::app
