#include "plan/search/remedies.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "plan/plan_run.hpp"
#include "plan/reduced_run.hpp"
#include "plan/search/choose_homes.hpp"
#include "plan/search/ops_budget.hpp"
#include "plan/search/state_changes.hpp"
#include "spec/depths.hpp"

namespace ziggurat::plan {
namespace {

constexpr std::size_t max_remedies = 3;

/// Bounds of the relative difference between an estimate by few layers and a plan.
constexpr spec::ByTier<double> error_of_estimate{0.05, 0.25, 0.25};

/// The same for a plan whose depths and chunks the loaded deck may choose again.
constexpr spec::ByTier<double> error_of_choices{0.03, 0.05, 0.05};

bool may_fit(const Footprint& footprint, const spec::ByTier<double>& error) {
    return footprint.fits() || !footprint.is_clear(error);
}

/// Returns the run of a change with all open homes on the host: no choice needs less of the device.
spec::RunSpec screened(const DeckEdit& change) {
    return spec::has_auto_home(change.spec)
               ? moved_out({"", change.spec}, num_kinds_of_homes, spec::Tier::host).spec
               : change.spec;
}

class Trials {
  public:
    Trials(const spec::MachineSpec& machine, const Watch& watch, const RemedySearch& search)
        : machine_{machine}, watch_{watch}, search_{search} {}

    /// Returns the change with its memory; nullopt if the deck's rules refuse it.
    ///
    /// If the change does not fit, the memory may be an estimate.
    std::optional<Remedy> try_change(const DeckEdit& change) const {
        auto run = screened(change);
        run.tiers.open = {};
        const bool is_auto = spec::has_auto_home(change.spec);
        auto footprint = plan_run(run, machine_, PlannedRanks::estimate, watch_).footprint;
        const bool is_reduced =
            shortened(run, Size::of_estimate).spec != shortened(run, Size::of_search).spec;
        if (is_reduced && may_fit_on(footprint, error_of_estimate, is_auto)) {
            footprint = plan_run(run, machine_, PlannedRanks::first, watch_).footprint;
        }
        if (!may_fit_on(footprint, error_of_choices, is_auto)) {
            return Remedy{change.overrides.substr(1), footprint, false};
        }
        return planned(change);
    }

    /// Returns the change as a command with its overrides plans it; nullopt if the rules refuse it.
    std::optional<Remedy> planned(const DeckEdit& change) const {
        auto changed = search_.load ? search_.load(change, watch_) : ChangedRun{change.spec, machine_};
        if (!changed) {
            return std::nullopt;
        }
        auto& run = changed->run;
        if (spec::has_auto_home(run)) {
            run = choose_homes(run, changed->machine, watch_);
        }
        const auto footprint = plan_run(run, changed->machine, PlannedRanks::several, watch_).footprint;
        return Remedy{change.overrides.substr(1), footprint, footprint.fits()};
    }

  private:
    /// True if a run with that footprint may fit. With open homes, only the device's memory decides.
    static bool may_fit_on(Footprint footprint, const spec::ByTier<double>& error, bool is_auto) {
        if (is_auto) {
            for (const auto tier : {spec::Tier::host, spec::Tier::nvme}) {
                footprint.needed[tier_index(tier)] = 0;
            }
            footprint.memory_needed = 0;
        }
        return may_fit(footprint, error);
    }

    const spec::MachineSpec& machine_;
    const Watch& watch_;
    const RemedySearch& search_;
};

/// A change that does not fit, by an estimate of its memory.
struct Rejected {
    const DeckEdit* change = nullptr;
    std::int64_t lack = 0;
};

/// Returns the change with the smallest shortfall, if that is below `lack`.
std::vector<Remedy> best_of(std::vector<Rejected> rejected, std::int64_t lack, const Trials& trials) {
    std::ranges::stable_sort(rejected, {}, &Rejected::lack);
    for (const auto& best : rejected) {
        if (auto remedy = trials.planned(*best.change)) {
            return remedy->footprint.total_lack() < lack ? std::vector{*remedy} : std::vector<Remedy>{};
        }
    }
    return {};
}

}  // namespace

FoundRemedies find_remedies(const spec::RunSpec& spec,
                            const spec::MachineSpec& machine,
                            const RunPlan& plan,
                            const Watch& watch,
                            const RemedySearch& search) {
    const PlanningBudget budget{max_ops_of_remedies, watch};
    const auto is_over = [&] { return search.is_over ? search.is_over() : budget.is_spent(); };
    const auto changes = cheaper_runs(spec);
    FoundRemedies found{.all = changes.size()};
    const Trials trials{machine, budget.watch(), search};
    std::vector<Rejected> rejected;
    for (const auto& change : changes) {
        if (found.remedies.size() == max_remedies) {
            break;
        }
        if (is_over() && (!change.is_advised || !found.remedies.empty())) {
            found.is_finished = false;
            continue;
        }
        ++found.tried;
        auto remedy = trials.try_change(change);
        if (remedy && remedy->fits) {
            found.remedies.push_back(std::move(*remedy));
        } else if (remedy) {
            rejected.push_back({&change, remedy->footprint.total_lack()});
        }
    }
    if (found.remedies.empty()) {
        found.remedies = best_of(std::move(rejected), plan.footprint.total_lack(), trials);
    }
    return found;
}

}  // namespace ziggurat::plan
