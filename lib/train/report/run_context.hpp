/// Facts about a run that come from the program and not from the deck.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/text/secret.hpp"
#include "data/token_source.hpp"
#include "train/account/planned_step.hpp"
#include "train/account/utilisation.hpp"

namespace ziggurat::train {

/// Facts that the program passes to a run.
struct RunContext {
    std::string version;                               ///< of this program
    std::string libraries = {};                        ///< versions of the libraries that it uses
    std::string command = {};                          ///< command line
    std::string effective_deck;                        ///< written to the run directory
    std::vector<Secret> secrets = {};                  ///< environment values in the deck; never written
    bool backup = false;                               ///< for run.resume never: rename older checkpoints
    std::int64_t begin_ns = monotonic_ns();            ///< start of the process, for run.time_limit
    std::optional<std::int64_t> stop_at_ns = {};       ///< end set by the environment, in monotonic_ns()
    std::string time_limit_source = "run.time_limit";  ///< setting that defines the end, for messages
    Peak peak = {};                                    ///< of matrix products on this machine
    std::optional<PlannedStep> planned_step = {};      ///< on rank 0; nullopt: rates are unknown
    /// Called on rank 0 with FLOP/s per rank if steps have exceeded the peak; empty: not called.
    std::function<void(double flops_of_rank)> keep_peak = {};
    /// Opens data.train and data.validation; the same on all ranks.
    data::OpenSource open_source = data::open_source;
    std::string depths = {};              ///< prefetch depth and tile sizes, and the reason
    std::string samples = {};             ///< on rank 0: lines about samples of conversations; may be empty
    int job_cores = 0;                    ///< cores of this node that the job may use; 0: unknown
    std::vector<std::string> notes = {};  ///< on rank 0: notes about the launch, printed at the start
};

}  // namespace ziggurat::train
