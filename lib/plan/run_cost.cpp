#include "plan/run_cost.hpp"

#include <algorithm>

#include "plan/run_goodput.hpp"

namespace ziggurat::plan {

namespace {

/// Returns the joules of a step's work on all ranks: stages of a kind have the same work.
double joules_of_step(const spec::RunSpec& spec, const spec::MachineSpec& machine, const PlannedTime& time) {
    const double ranks_of_stage =
        static_cast<double>(spec.parallel.ranks) / std::max(spec.parallel.stages, 1);
    double joules = 0;
    for (const auto& stage : time.stages) {
        joules += ranks_of_stage * stage.stages * joules_of(stage.time.uses, machine.energy);
    }
    return joules;
}

}  // namespace

EnergyBasis energy_basis(const spec::MachineSpec& machine, spec::DType compute) {
    const auto flop = compute == spec::DType::f32 ? spec::EnergyUse::fp32_flop : spec::EnergyUse::bf16_flop;
    if (machine.idle_power > 0 && machine.energy.joules[flop] > 0) {
        return EnergyBasis::work;
    }
    return machine.power > 0 ? EnergyBasis::power : EnergyBasis::none;
}

RunCost cost_of_run(const spec::RunSpec& spec, const spec::MachineSpec& machine, const PlannedTime& time) {
    constexpr double seconds_per_hour = 3600;
    const int per_node = std::max(spec.parallel.ranks_per_node, 1);
    RunCost cost;
    cost.nodes = (spec.parallel.ranks + per_node - 1) / per_node;
    const auto goodput = run_goodput(spec, machine, time.step_seconds);
    const double productive = goodput && goodput->share > 0 ? goodput->share : 1;
    cost.seconds = static_cast<double>(spec.train.steps) * time.step_seconds / productive;
    if (machine.price_per_hour > 0) {
        cost.price = cost.nodes * machine.price_per_hour * cost.seconds / seconds_per_hour;
    }
    switch (energy_basis(machine, spec.precision.compute)) {
        case EnergyBasis::none:
            break;
        case EnergyBasis::power:
            cost.joules = cost.nodes * machine.power * cost.seconds;
            break;
        case EnergyBasis::work:
            cost.joules = cost.nodes * machine.idle_power * cost.seconds +
                          static_cast<double>(spec.train.steps) * joules_of_step(spec, machine, time);
            break;
    }
    return cost;
}

std::optional<double> objective_of(const RunCost& cost, JobObjective objective) {
    switch (objective) {
        case JobObjective::time:
            return cost.seconds;
        case JobObjective::cost:
            return cost.price;
        case JobObjective::energy:
            return cost.joules;
    }
    return std::nullopt;
}

}  // namespace ziggurat::plan
