/// Weights of a checkpoint, loaded in a layout for the ranks of this job.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "app/checkpoint/trained_model.hpp"
#include "base/progress.hpp"
#include "comm/context.hpp"
#include "spec/run_spec.hpp"
#include "train/inference.hpp"

namespace ziggurat::app {

/// Returns the run of `model`, changed to evaluate on the ranks of this job.
///
/// \param compute      value of --compute; empty: number type of the run
/// \param micro_batch  number of sequences in one run of the program
spec::RunSpec evaluated_run(const TrainedModel& model, const std::string& compute, std::int64_t micro_batch);

/// Sets the home of the KV cache to the value of --kv-cache, if that is not empty.
///
/// Errors: Error{deck} if the cache is on NVMe, and neither the value nor the run names a folder
void set_cache_home(spec::RunSpec& run, const std::string& home);

/// Sets the number type of the run to the value of --compute, if that is not empty.
void set_compute(spec::RunSpec& run, const std::string& compute);

/// Loads the weights of `model`, closes its files, calls `work` and returns its exit code.
///
/// Loading shows a progress line, which stays until `work` ends it. Returns empty if the checkpoint was
/// removed during the read and another one exists (with_trained_model()). Returns 3, after rank 0 has printed
/// the plan, if the run does not fit.
///
/// \param run  result of evaluated_run(), or derived from it
/// Collective: over `world`
/// Errors:     Error{checkpoint}, Error{resource} as of Inference
std::optional<int> with_weights(TrainedModel& model,
                                const spec::RunSpec& run,
                                const comm::Context& world,
                                const std::function<int(train::Inference&, Progress&)>& work);

}  // namespace ziggurat::app
