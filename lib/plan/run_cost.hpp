/// Time, price and energy of a whole run.
#pragma once

#include <optional>

#include "plan/planned_time.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

struct RunCost {
    int nodes = 1;
    double seconds = 0;            ///< of the wall clock, with the expected time that failures and saves take
    std::optional<double> price;   ///< in the currency of the machine file; nullopt: no price_per_hour
    std::optional<double> joules;  ///< nullopt: the machine file does not give it
};

/// Figures of a machine file from which the energy of a run follows.
enum class EnergyBasis {
    none,
    power,  ///< power of a training node, for the time of the run
    work    ///< power of an idle node for that time, and the energy of FLOP and bytes
};

/// Returns the basis for runs of that compute type.
///
/// `work` if the file gives idle_power and the energy of a FLOP of that type.
EnergyBasis energy_basis(const spec::MachineSpec& machine, spec::DType compute);

/// Returns the cost of all steps of a run, each of the planned time and work.
///
/// Without a mean time to failure, or a rate for checkpoints, no time is lost. Work that is repeated after a
/// failure counts as part of the time lost only.
RunCost cost_of_run(const spec::RunSpec& spec, const spec::MachineSpec& machine, const PlannedTime& time);

/// Quantity that a comparison of machines minimizes.
enum class JobObjective { time, cost, energy };

/// Returns the part of `cost` that is minimized; nullopt if it is unknown.
std::optional<double> objective_of(const RunCost& cost, JobObjective objective);

}  // namespace ziggurat::plan
