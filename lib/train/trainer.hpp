/// A training run from the first step to the last, or to the step after which it was asked to stop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "comm/abort_flag.hpp"
#include "comm/communicator.hpp"
#include "spec/run_spec.hpp"
#include "train/console.hpp"
#include "train/stop_signals.hpp"
#include "train/utilisation.hpp"

namespace ziggurat::train {

/// What a run is told by its program.
struct RunContext {
    std::string version;                     ///< of this program
    std::string libraries;                   ///< versions of those it uses
    std::string command;                     ///< the command line
    std::string effective_deck;              ///< written to the run directory
    bool backup = false;                     ///< run.resume: never keeps checkpoints of an earlier run aside
    std::int64_t begin_ns = monotonic_ns();  ///< when the process began, for run.time_limit
    std::optional<std::int64_t> stop_at_ns = {};  ///< an end that the environment sets, of monotonic_ns()
    Peak peak = {};                               ///< of this machine's products
    std::string depths = {};                      ///< how far ahead and in what pieces state moves, and why
};

/// Trains as `spec` says and reports on rank 0: console, run directory, metrics, the account at the end.
///
/// \param console  of rank 0; a silent one elsewhere
/// \returns the exit code: 0, or exit_code_of_stop() after an orderly stop
/// Collective: over `world`, which has spec.parallel.ranks ranks
/// Errors:     Error{resource} for memory and files; Error{deck} for data that cannot be trained on;
///             Error{numerics} when the loss stays non-finite; Error{communication}
int train(const spec::RunSpec& spec,
          const RunContext& context,
          const comm::Communicator& world,
          const comm::AbortFlag& abort,
          StopSignals& signals,
          Console& console);

}  // namespace ziggurat::train
