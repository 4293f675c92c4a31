/// Time, price and energy of a whole run.
#pragma once

#include <optional>

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

struct RunCost {
    int nodes = 1;
    double seconds = 0;            ///< of the wall clock, with the expected time that failures and saves take
    std::optional<double> price;   ///< in the currency of the machine file; nullopt: no price_per_hour
    std::optional<double> joules;  ///< at the machine's power; nullopt: no power
};

/// Returns the cost of all steps of a run, each of `step_seconds`.
///
/// Without a mean time to failure, or a rate for checkpoints, no time is lost.
RunCost cost_of_run(const spec::RunSpec& spec, const spec::MachineSpec& machine, double step_seconds);

/// Quantity that a comparison of machines minimizes.
enum class JobObjective { time, cost, energy };

/// Returns the part of `cost` that is minimized; nullopt if it is unknown.
std::optional<double> objective_of(const RunCost& cost, JobObjective objective);

}  // namespace ziggurat::plan
