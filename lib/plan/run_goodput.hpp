/// Goodput of a run: productive time, best checkpoint interval and price, from the machine file.
#pragma once

#include <optional>

#include "plan/goodput.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Expected productive time of a run with checkpoint.every of its deck and with the best interval.
struct RunGoodput {
    int nodes = 1;
    FailureTimes times;
    double share = 0;          ///< productive share with the deck's interval
    double best_share = 0;     ///< the same with the best interval
    double interval = 0;       ///< seconds from save to save with the deck's interval, without failures
    double best_interval = 0;  ///< the same with the best interval
    spec::Interval best;       ///< best value of checkpoint.every, in the unit of the deck and rounded
    double extra_time = 0;     ///< the time of the run exceeds that with the best interval by this share
    // nullopt if the time of a step, or the price, is unknown.
    std::optional<double> tokens_per_day;
    std::optional<double> price;  ///< of the whole run, in the currency of the machine file
};

/// Returns the goodput of a run; nullopt if it cannot be planned.
///
/// Needs the mean time to failure and a rate for checkpoints. Needs the time of a step unless
/// checkpoint.every is a duration. An asynchronous save blocks training for the copy of the state that is not
/// on NVMe; a synchronous one for the whole write.
///
/// \param step_seconds  as of planned_step_seconds
std::optional<RunGoodput> run_goodput(const spec::RunSpec& spec,
                                      const spec::MachineSpec& machine,
                                      std::optional<double> step_seconds);

/// Returns true if the machine has failures, but no rate for checkpoints.
bool lacks_checkpoint_rate(const spec::MachineSpec& machine);

}  // namespace ziggurat::plan
