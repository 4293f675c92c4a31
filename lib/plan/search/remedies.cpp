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

/// Returns the smallest footprint that homes can have, from that with all state on the host.
///
/// State that returns to the device frees no more of the host than the device has left.
Footprint with_best_homes(Footprint on_host, const spec::RunSpec& run) {
    auto& needed = on_host.needed;
    if (!run.tiers.nvme_paths.empty()) {
        needed[tier_index(spec::Tier::host)] = on_host.memory_needed = 0;
        return on_host;
    }
    const auto limit = on_host.limit(spec::Tier::device);
    const auto left = std::max<std::int64_t>(0, limit - needed[tier_index(spec::Tier::device)]);
    auto& host = needed[tier_index(spec::Tier::host)];
    host = left > host ? 0 : std::max<std::int64_t>(0, host - run.parallel.ranks_per_node * left);
    return on_host;
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
        const auto footprint_of = [&](PlannedRanks which) {
            auto footprint = plan_run(run, machine_, which, watch_).footprint;
            return is_auto ? with_best_homes(std::move(footprint), run) : footprint;
        };
        auto footprint = footprint_of(PlannedRanks::estimate);
        const bool is_reduced =
            shortened(run, Size::of_estimate).spec != shortened(run, Size::of_search).spec;
        if (is_reduced && may_fit(footprint, error_of_estimate)) {
            footprint = footprint_of(PlannedRanks::first);
        }
        if (!may_fit(footprint, error_of_choices)) {
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
        auto footprint = plan_run(run, changed->machine, PlannedRanks::first, watch_).footprint;
        if (footprint.fits()) {
            footprint = plan_run(run, changed->machine, PlannedRanks::several, watch_).footprint;
        }
        return Remedy{change.overrides.substr(1), footprint, footprint.fits()};
    }

  private:
    const spec::MachineSpec& machine_;
    const Watch& watch_;
    const RemedySearch& search_;
};

/// True if `change` only adds overrides to those of a remedy that fits.
bool is_longer(const DeckEdit& change, const std::vector<Remedy>& fitting) {
    const auto arguments = arguments_of(change.overrides);
    return std::ranges::any_of(fitting, [&](const Remedy& remedy) {
        const auto fewer = arguments_of(remedy.overrides);
        return !fewer.empty() && std::ranges::all_of(fewer, [&](const std::string& argument) {
            return std::ranges::find(arguments, argument) != arguments.end();
        });
    });
}

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
        if (is_longer(change, found.remedies)) {
            --found.all;
            continue;
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
