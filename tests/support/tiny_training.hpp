/// Small trainings inside the test's own process, spread over the ranks of a group in any way.
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

/// Two layers of odd sizes: no extent is a multiple of a vector, no unit of a piece. GPT-2 has dropout.
///
/// `ranks` data ranks with one thread each, ZeRO 0, sums in the order of ranks.
spec::RunSpec tiny_run(const std::string& family,
                       int ranks,
                       std::int64_t micro_batch,
                       std::int64_t micro_batches);

using Tensors = std::map<std::string, std::vector<float>>;

/// Every tensor of the model that has the state kind.
///
/// Collective: over the ranks of the assembly
Tensors all_tensors(const train::Assembly& assembly, const spec::RunSpec& run, schedule::StateKind kind);

/// What a training leaves on one rank.
struct TinyOutcome {
    std::vector<double> losses;  ///< mean over the target tokens, of every step
    std::vector<double> norms;
    std::uint64_t weights_hash = 0;
    int abandoned = 0;             ///< steps that were given up, and then done again
    std::vector<float> evaluated;  ///< losses of the rank's first micro-batch after the last step
    Tensors gradients;             ///< of the first step
    Tensors weights;               ///< at the end
};

/// Which tensors to keep of a training.
enum class Keep { nothing, tensors };

/// What somebody does besides training.
struct TinyHooks {
    /// Changes the programs that are carried out.
    std::function<void(train::Programs&)> programs = {};
    /// Before the first step; gives the number of steps that were done before.
    std::function<std::int64_t(train::Assembly&)> begin = {};
    /// Between the ops of a step.
    std::function<void()> between_ops = {};
    /// After each step, with the number of steps done; false ends the training.
    std::function<bool(std::int64_t)> after_step = {};
};

/// Trains until run.train.steps steps are done. Tokens, targets and masks are functions of step and global
/// sample alone.
///
/// \param look  called at the end, while all is still there
/// Collective: over `group`, the ranks of `run`
TinyOutcome train_tiny(const spec::RunSpec& run,
                       const comm::Context& group,
                       Keep keep,
                       const std::function<void(const train::Assembly&)>& look = {},
                       const TinyHooks& hooks = {});
/// The same on the host's cores, to whose bits every device of tests comes; a GPU has its own.
TinyOutcome train_on_host(const spec::RunSpec& run, const comm::Context& group, Keep keep = Keep::nothing);

}  // namespace ziggurat::test
