#include "plan/search/fastest_homes.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "plan/cost/rates.hpp"
#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "plan/rank_programs.hpp"
#include "plan/search/choose_homes.hpp"
#include "plan/search/fate_search.hpp"
#include "plan/search/ops_budget.hpp"
#include "plan/stage_kinds.hpp"
#include "plan/time_to_train.hpp"
#include "schedule/build_program.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "spec/depths.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::plan {
namespace {

/// Work of all searches, as a multiple of the work of the first; the second value is for chunks.
constexpr std::size_t max_searches = 4;
constexpr std::size_t max_searches_of_chunks = 8;
/// The same for fates, after these searches.
constexpr std::size_t max_searches_of_fates = 12;

struct OpenKind {
    bool spec::AutoHomes::*is_open;
    spec::Home spec::Tiers::*home;
    spec::Home spec::StageState::*of_stage;
};

constexpr std::array open_kinds{
    OpenKind{&spec::AutoHomes::optimizer, &spec::Tiers::optimizer, &spec::StageState::optimizer},
    OpenKind{&spec::AutoHomes::activations, &spec::Tiers::activations, &spec::StageState::activations},
    OpenKind{&spec::AutoHomes::gradients, &spec::Tiers::gradients, &spec::StageState::gradients},
    OpenKind{&spec::AutoHomes::parameters, &spec::Tiers::parameters, &spec::StageState::parameters}};

/// Returns `run` with a home for a kind of state, in each stage that leaves it open.
spec::RunSpec with_home(spec::RunSpec run, const OpenKind& kind, const spec::Home& home) {
    if (run.tiers.open.*kind.is_open) {
        run.tiers.open.*kind.is_open = false;
        run.tiers.*kind.home = home;
    }
    for (auto& state : run.stages) {
        if (state.open.*kind.is_open) {
            state.open.*kind.is_open = false;
            state.*kind.of_stage = home;
        }
    }
    return run;
}

bool has_chunks(const spec::RunSpec& run) {
    return run.tiers.movement == spec::Movement::chunks;
}

/// Returns the footprint of a run, and limits its chunks to the device memory that libraries leave.
///
/// Chunks need no more memory than static movement, or the budget.
Footprint footprint_with_limit(spec::RunSpec& run, const spec::MachineSpec& machine, const Watch& watch) {
    auto with_static = run;
    with_static.tiers.movement = spec::Movement::fixed;
    const auto footprint = footprint_in_search(with_static, machine, watch);
    if (has_chunks(run)) {
        run.tiers.device_budget_bytes = footprint.limit(spec::Tier::device);
    }
    return footprint;
}

/// Returns the seconds in which links move the bytes of a step, one link after the other.
///
/// The rank with most counts. Rates that are unknown have usual values.
double link_seconds(const spec::RunSpec& run, const spec::MachineSpec& machine, const Watch& watch) {
    const auto rates = rates_of(run, machine);
    double longest = 0;
    for (const int rank : ranks_of_each_kind(run)) {
        const auto program =
            schedule::build_placed(run, schedule::ModelLayout{run, rank}, schedule::Variant::train);
        watch(program.ops.size());
        const auto bytes = schedule::bytes_by_link(program);
        using enum schedule::Link;
        const double seconds = static_cast<double>(bytes[nvme_read]) / rates.nvme_read +
                               static_cast<double>(bytes[nvme_write]) / rates.nvme_write +
                               static_cast<double>(bytes[host_to_device]) / rates.host_to_device +
                               static_cast<double>(bytes[device_to_host]) / rates.device_to_host;
        longest = std::max(longest, seconds);
    }
    return longest;
}

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
        has_rates_ = missing_rates(by_room, machine_).empty();
        if (spec_.tiers.open.tiles || costs_nothing(by_room) || !can_compare(by_room) || !fits(by_room)) {
            return by_room;
        }
        best_ = {cost(by_room), by_room};
        auto asked = spec_;
        if (spec_.recompute.is_auto) {
            asked.recompute = has_rates_ ? try_recomputations() : by_room.recompute;
        }
        try_homes(asked, {});
        if (has_chunks(spec_)) {
            try_homes(asked, {0, 1, 0});
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

    bool fits(spec::RunSpec& run) const { return footprint_with_limit(run, machine_, watch_).fits(); }

    /// True if the times of runs can be compared, or at least what their chunks save.
    bool can_compare(const spec::RunSpec& run) const {
        const bool has_auto_stages = run.parallel.stages > 1 && spec::has_auto_recomputation(spec_);
        return has_rates_ || (times_with_chunks(run) && !has_auto_stages);
    }

    /// Returns the seconds of a step; those of its links if not all rates are known.
    double cost(const spec::RunSpec& run) {
        return has_rates_ ? planned_time(run, machine_).step_seconds : link_seconds(run, machine_, counted());
    }

    /// Tries `home` for each open kind of state, with the other homes as they are open.
    void try_homes(const spec::RunSpec& asked, const spec::Home& home) {
        for (const auto& kind : open_kinds) {
            const bool is_open =
                spec::is_any_stage(asked, [&](const spec::StageState& of) { return of.open.*kind.is_open; });
            const bool differs = spec::is_any_stage(
                best_.run, [&](const spec::StageState& of) { return of.*kind.of_stage != home; });
            if (is_open && differs) {
                consider(with_home(asked, kind, home));
            }
        }
    }

    /// Returns true if `asked`, with homes, is the fastest until now.
    bool consider(const spec::RunSpec& asked) {
        const auto searches = has_chunks(spec_) ? max_searches_of_chunks : max_searches;
        if (ops_ > std::min(searches * of_first_, max_ops_of_comparison)) {
            return false;
        }
        auto made = choose_homes(asked, machine_, counted());
        if (!fits(made)) {
            return false;
        }
        const double seconds = cost(made);
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

    /// True if the deck leaves recomputation and the home of activations to the planner, for all stages.
    bool may_choose_fates() const {
        const auto general = spec::general_state(spec_);
        return has_rates_ && general.recompute.is_auto && general.open.activations &&
               general.recompute.fates.empty() &&
               std::ranges::all_of(spec_.stages, [&](const auto& state) { return state == general; });
    }

    /// Tries fates of single activations, with the other homes as they are open.
    void try_fates() {
        auto asked = spec_;
        asked.stages.clear();
        asked.recompute = {};
        asked.tiers.open.activations = false;
        asked.tiers.activations = {};
        const auto max_ops = std::min(ops_ + max_searches_of_fates * of_first_, max_ops_of_comparison);
        const auto groups = fate_groups(asked, rates_of(asked, machine_));
        const bool has_nvme = !spec_.tiers.nvme_paths.empty();
        search_fates(groups, has_nvme, [&](const std::vector<spec::FateRule>& fates, double& seconds) {
            if (ops_ > max_ops) {
                return FateTrial::stop;
            }
            asked.recompute.fates = fates;
            auto made = choose_homes(asked, machine_, counted());
            const auto footprint = footprint_with_limit(made, machine_, counted());
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
    bool has_rates_ = false;
    Timed best_;
};

}  // namespace

spec::RunSpec choose_fastest_homes(const spec::RunSpec& spec,
                                   const spec::MachineSpec& machine,
                                   const Watch& watch) {
    auto made = Comparison{spec, machine, watch}.run();
    if (has_chunks(made)) {
        footprint_with_limit(made, machine, watch);
    }
    return made;
}

}  // namespace ziggurat::plan
