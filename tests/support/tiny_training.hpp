/// Small trainings in the test's own process, with any layout over the ranks of a group.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::test {

/// Returns a run of two layers with odd sizes, which are not multiples of vectors or pieces.
///
/// GPT-2 has dropout.
///
/// `ranks` data ranks with one thread each, ZeRO 0, sums in the order of ranks. With
/// data.reset_at_document, samples have documents of 3 to 6 tokens.
spec::RunSpec tiny_run(const std::string& family,
                       int ranks,
                       std::int64_t micro_batch,
                       std::int64_t micro_batches);

using Tensors = std::map<std::string, std::vector<float>>;

/// Returns every tensor of the model that has the state kind.
///
/// Collective: over the ranks of the assembly
Tensors all_tensors(const train::Assembly& assembly, const spec::RunSpec& run, schedule::StateKind kind);

/// Result of a training on one rank.
struct TinyOutcome {
    std::vector<double> losses;  ///< mean over the target tokens, of every step
    std::vector<double> norms;
    std::uint64_t weights_hash = 0;
    std::uint64_t average_hash = 0;  ///< of the average of the weights, if the run has it
    int abandoned = 0;               ///< steps that were aborted, and then repeated
    /// Losses of the rank's first micro-batch after the last step; empty on stages without the head.
    std::vector<float> evaluated;
    Tensors gradients;                                      ///< gradients of the first step
    Tensors weights;                                        ///< final weights
    std::vector<std::vector<train::UnitNorms>> unit_norms;  ///< of every step, with logging.norms
};

/// Selects if a training keeps its tensors.
enum class Keep { nothing, tensors };

/// Hooks of a test in a training.
struct TinyHooks {
    /// Changes the programs before they run.
    std::function<void(train::Programs&)> programs = {};
    /// Called before the first step; returns the number of steps done before.
    std::function<std::int64_t(train::Assembly&)> begin = {};
    /// Called between the ops of a step.
    std::function<void()> between_ops = {};
    /// Called after each step with the number of steps done; returning false ends the training.
    std::function<bool(std::int64_t)> after_step = {};
};

/// Trains until run.train.steps steps are done. Tokens, targets and masks depend only on step and
/// global sample.
///
/// \param look  called at the end, before the assembly is destroyed
/// Collective: over `group`, the ranks of `run`
TinyOutcome train_tiny(const spec::RunSpec& run,
                       const comm::Context& group,
                       Keep keep,
                       const std::function<void(const train::Assembly&)>& look = {},
                       const TinyHooks& hooks = {});
/// Same on the host's cores. All test devices must give its bits, except a GPU, which has its own.
TinyOutcome train_on_host(const spec::RunSpec& run, const comm::Context& group, Keep keep = Keep::nothing);

}  // namespace ziggurat::test
