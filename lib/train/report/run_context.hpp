/// The facts about a run that its program knows and its deck does not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/secret.hpp"
#include "data/token_source.hpp"
#include "train/account/utilisation.hpp"

namespace ziggurat::train {

/// Facts that the program tells a run.
struct RunContext {
    std::string version;                     ///< of this program
    std::string libraries = {};              ///< versions of those it uses
    std::string command = {};                ///< the command line
    std::string effective_deck;              ///< written to the run directory
    std::vector<Secret> secrets = {};        ///< of the environment, in the deck: no file keeps their values
    bool backup = false;                     ///< run.resume: never keeps checkpoints of an earlier run aside
    std::int64_t begin_ns = monotonic_ns();  ///< when the process began, for run.time_limit
    std::optional<std::int64_t> stop_at_ns = {};  ///< an end that the environment sets, of monotonic_ns()
    std::string time_limit_source = "run.time_limit";  ///< who says when the run ends, for messages
    Peak peak = {};                                    ///< of this machine's products
    /// On rank 0, told of FLOP/s of a rank when steps have reached more than the peak; none: nobody is told.
    std::function<void(double flops_of_rank)> keep_peak = {};
    data::OpenSource open_source =
        data::open_source;                ///< of data.train and data.validation, the same on all ranks
    std::string depths = {};              ///< how far ahead and in what pieces state moves, and why
    int job_cores = 0;                    ///< of this node, that the job may use; 0: unknown
    std::vector<std::string> notes = {};  ///< on rank 0: what people are told of the launch
};

}  // namespace ziggurat::train
