#include "plan/search/remedies.hpp"

#include <algorithm>
#include <utility>

#include "plan/plan_run.hpp"
#include "plan/search/changes.hpp"
#include "plan/search/ops_budget.hpp"

namespace ziggurat::plan {
namespace {

constexpr std::size_t max_remedies = 3;

}  // namespace

std::vector<Remedy> find_remedies(const spec::RunSpec& spec,
                                  const spec::MachineSpec& machine,
                                  const RunPlan& plan,
                                  const Watch& watch) {
    std::vector<Remedy> tried;
    std::size_t fitting = 0;
    const PlanningBudget budget{max_ops_of_remedies, watch};
    for (const auto& change : cheaper_runs(spec)) {
        const bool is_known = std::any_of(tried.begin(), tried.end(), [&](const Remedy& other) {
            return " " + other.overrides == change.overrides;
        });
        if (is_known) {
            continue;
        }
        auto changed = plan_run(change.spec, machine, PlannedRanks::first, budget.watch());
        if (changed.footprint.fits()) {
            changed = plan_several_in_search(std::move(changed), change.spec, machine, budget.watch());
        }
        const bool fits = changed.footprint.fits();
        tried.push_back({change.overrides.substr(1), changed.footprint, fits});
        fitting += fits ? 1 : 0;
        if (fitting == max_remedies || budget.is_spent()) {
            break;
        }
    }
    if (fitting > 0) {
        std::erase_if(tried, [](const Remedy& remedy) { return !remedy.fits; });
        return tried;
    }
    const auto best = std::min_element(tried.begin(), tried.end(), [](const Remedy& a, const Remedy& b) {
        return a.footprint.total_lack() < b.footprint.total_lack();
    });
    if (best == tried.end() || best->footprint.total_lack() >= plan.footprint.total_lack()) {
        return {};
    }
    return {*best};
}

}  // namespace ziggurat::plan
