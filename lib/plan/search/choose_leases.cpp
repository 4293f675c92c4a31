#include "plan/search/choose_leases.hpp"

#include "plan/plan_run.hpp"

namespace ziggurat::plan {

bool holds_leases_of_a_step(const spec::RunSpec& spec, const spec::MachineSpec& machine, const Watch& watch) {
    auto for_step = spec;
    for_step.sharding.leases = spec::LeaseSpan::step;
    const auto holds = [&](PlannedRanks which) {
        return plan_run(for_step, machine, which, watch).footprint.total_lack() == 0;
    };
    return holds(PlannedRanks::first) && holds(PlannedRanks::several_in_search);
}

}  // namespace ziggurat::plan
