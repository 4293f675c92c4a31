#include "plan/run_cost.hpp"

#include <algorithm>

#include "plan/run_goodput.hpp"

namespace ziggurat::plan {

RunCost cost_of_run(const spec::RunSpec& spec, const spec::MachineSpec& machine, double step_seconds) {
    constexpr double seconds_per_hour = 3600;
    const int per_node = std::max(spec.parallel.ranks_per_node, 1);
    RunCost cost;
    cost.nodes = (spec.parallel.ranks + per_node - 1) / per_node;
    const auto goodput = run_goodput(spec, machine, step_seconds);
    const double productive = goodput && goodput->share > 0 ? goodput->share : 1;
    cost.seconds = static_cast<double>(spec.train.steps) * step_seconds / productive;
    if (machine.price_per_hour > 0) {
        cost.price = cost.nodes * machine.price_per_hour * cost.seconds / seconds_per_hour;
    }
    if (machine.power > 0) {
        cost.joules = cost.nodes * machine.power * cost.seconds;
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
