#include "plan/layouts/layout_footprint.hpp"

#include <algorithm>
#include <utility>

#include "plan/plan_run.hpp"

namespace ziggurat::plan {

std::int64_t device_limit(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    const auto of_machine = machine.has_device
                                ? machine.device_bytes
                                : machine.host_bytes / std::max(spec.parallel.ranks_per_node, 1);
    return std::min(spec.tiers.device_budget_bytes, of_machine > 0 ? of_machine : spec::unlimited);
}

Footprint footprint_of_ends(const spec::RunSpec& run, const spec::MachineSpec& machine, const Watch& watch) {
    auto larger = plan_run(run, machine, PlannedRanks::first, watch, 0).footprint;
    if (run.parallel.stages > 1 && larger.fits()) {
        auto last = plan_run(run, machine, PlannedRanks::first, watch, run.parallel.stages - 1).footprint;
        if (!last.fits() || last.needed[0] > larger.needed[0]) {
            larger = std::move(last);
        }
    }
    if (may_not_fit_on_other_ranks(larger)) {
        larger = plan_run(run, machine, PlannedRanks::several_in_search, watch).footprint;
    }
    return larger;
}

}  // namespace ziggurat::plan
