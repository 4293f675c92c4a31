#include "plan/search/fastest_homes.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "plan/cost/rates.hpp"
#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "plan/search/choose_homes.hpp"
#include "plan/search/fate_search.hpp"
#include "plan/time_to_train.hpp"
#include "spec/depths.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::plan {
namespace {

/// Work of all searches, as a multiple of the work of the first.
constexpr std::size_t max_searches = 4;
/// The same for fates, after these searches.
constexpr std::size_t max_searches_of_fates = 12;

struct OpenKind {
    bool spec::AutoHomes::*is_open;
    spec::Home spec::Tiers::*home;
};

constexpr std::array open_kinds{OpenKind{&spec::AutoHomes::optimizer, &spec::Tiers::optimizer},
                                OpenKind{&spec::AutoHomes::activations, &spec::Tiers::activations},
                                OpenKind{&spec::AutoHomes::gradients, &spec::Tiers::gradients},
                                OpenKind{&spec::AutoHomes::parameters, &spec::Tiers::parameters}};

/// True if all state stays on the device without recomputation: no other choice is faster.
bool costs_nothing(const spec::RunSpec& run) {
    return !spec::is_any_state_away(run) && !spec::is_any_stage(run, [](const spec::StageState& of) {
        return of.recompute.kind != spec::RecomputeKind::none;
    });
}

class Comparison {
  public:
    Comparison(const spec::RunSpec& spec, const spec::MachineSpec& machine, const Watch& watch)
        : spec_{spec}, machine_{machine}, watch_{watch} {}

    spec::RunSpec run() && {
        auto by_room = choose_homes(spec_, machine_, counted());
        of_first_ = ops_;
        if (spec_.tiers.open.tiles || costs_nothing(by_room) || !missing_rates(by_room, machine_).empty() ||
            !fits(by_room)) {
            return by_room;
        }
        best_ = {planned_time(by_room, machine_).step_seconds, std::move(by_room)};
        auto asked = spec_;
        if (spec_.recompute.is_auto) {
            asked.recompute = try_recomputations();
        }
        for (const auto& kind : open_kinds) {
            if (spec_.tiers.open.*kind.is_open && (best_.run.tiers.*kind.home).device < 1) {
                auto kept = asked;
                kept.tiers.open.*kind.is_open = false;
                kept.tiers.*kind.home = {};
                consider(kept);
            }
        }
        if (may_choose_fates()) {
            try_fates();
        }
        return std::move(best_.run);
    }

  private:
    struct Timed {
        double seconds = 0;
        spec::RunSpec run;
    };

    Watch counted() {
        return [this](std::size_t ops) {
            ops_ += ops;
            if (watch_) {
                watch_(ops);
            }
        };
    }

    bool fits(const spec::RunSpec& run) const {
        return plan_run(run, machine_, PlannedRanks::first, watch_).footprint.fits();
    }

    /// Returns true if `asked`, with homes, is the fastest until now.
    bool consider(const spec::RunSpec& asked) {
        if (ops_ > max_searches * of_first_) {
            return false;
        }
        auto made = choose_homes(asked, machine_, counted());
        if (!fits(made)) {
            return false;
        }
        const double seconds = planned_time(made, machine_).step_seconds;
        if (seconds >= best_.seconds) {
            return false;
        }
        best_ = {seconds, std::move(made)};
        return true;
    }

    /// Tries each kind of recomputation for all stages. Returns the one of the fastest, which may be auto.
    spec::Recompute try_recomputations() {
        auto fastest = spec_.recompute;
        for (const auto kind :
             {spec::RecomputeKind::none, spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
            auto asked = spec_;
            const bool is_full = kind == spec::RecomputeKind::full;
            asked.recompute.kind = kind;
            asked.recompute.every = is_full ? spec_.recompute.every : 1;
            asked.recompute.split = is_full && spec_.recompute.split;
            asked.recompute.is_auto = false;
            if (consider(asked)) {
                fastest = asked.recompute;
            }
        }
        return fastest;
    }

    /// True if the deck leaves recomputation and the home of activations to the planner.
    bool may_choose_fates() const {
        return spec_.recompute.is_auto && spec_.tiers.open.activations && spec_.recompute.fates.empty() &&
               spec_.stages.empty() && spec_.parallel.stages == 1;
    }

    /// Tries fates of single activations, with the other homes as they are open.
    void try_fates() {
        auto asked = spec_;
        asked.recompute = {};
        asked.tiers.open.activations = false;
        asked.tiers.activations = {};
        const auto max_ops = ops_ + max_searches_of_fates * of_first_;
        const auto groups = fate_groups(asked, rates_of(asked, machine_));
        const bool has_nvme = !spec_.tiers.nvme_paths.empty();
        search_fates(groups, has_nvme, [&](const std::vector<spec::FateRule>& fates, double& seconds) {
            if (ops_ > max_ops) {
                return FateTrial::stop;
            }
            asked.recompute.fates = fates;
            auto made = choose_homes(asked, machine_, counted());
            const auto footprint = plan_run(made, machine_, PlannedRanks::first, counted()).footprint;
            if (!footprint.fits()) {
                const bool device_fits = footprint.shortfall(spec::Tier::device) == 0;
                return device_fits ? FateTrial::lacks_host : FateTrial::lacks_memory;
            }
            if (!missing_rates(made, machine_).empty()) {
                return FateTrial::lacks_memory;
            }
            seconds = planned_time(made, machine_).step_seconds;
            if (seconds < best_.seconds) {
                best_ = {seconds, std::move(made)};
            }
            return FateTrial::fits;
        });
    }

    const spec::RunSpec& spec_;
    const spec::MachineSpec& machine_;
    const Watch& watch_;
    std::size_t ops_ = 0;
    std::size_t of_first_ = 0;
    Timed best_;
};

}  // namespace

spec::RunSpec choose_fastest_homes(const spec::RunSpec& spec,
                                   const spec::MachineSpec& machine,
                                   const Watch& watch) {
    auto made = Comparison{spec, machine, watch}.run();
    if (made.tiers.movement == spec::Movement::chunks) {
        auto with_static = made;
        with_static.tiers.movement = spec::Movement::fixed;
        const auto footprint = plan_run(with_static, machine, PlannedRanks::first, watch).footprint;
        made.tiers.device_budget_bytes = footprint.limit(spec::Tier::device);
    }
    return made;
}

}  // namespace ziggurat::plan
