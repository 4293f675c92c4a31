#include "plan/search/home_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "layout/mesh.hpp"
#include "plan/reduced_run.hpp"
#include "schedule/model_layout.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::plan {
namespace {

using spec::Tier;

/// Number of parts into which state is divided if programs are large, or if the search has built half
/// of the ops that it may build.
constexpr std::int64_t shares_of_large = 64;

/// Returns the chunks of a rank's shards of a kind that is sharded over `span` ranks.
std::int64_t chunks_of(const spec::RunSpec& spec, const schedule::ModelLayout& model, int span) {
    std::int64_t elements = 0;
    for (const schedule::UnitId unit : model.units) {
        const auto& shards = model.shards[unit];
        elements += shards.shard(span, model.data_rank).size();
    }
    const auto chunk = chunk_elements(spec);
    return std::max<std::int64_t>(1, (elements + chunk - 1) / chunk);
}

/// Returns a share in millionths, the precision of decks. Rounding to whole chunks loses no chunk.
double share(std::int64_t part, std::int64_t whole) {
    return std::round(1e6 * static_cast<double>(part) / static_cast<double>(whole)) / 1e6;
}

bool host_holds(const Footprint& found) {
    return found.shortfall(Tier::host) == 0 && found.memory_lack() == 0;
}

}  // namespace

std::vector<HomeSearch::AutoHome> HomeSearch::open_kinds(const spec::RunSpec& spec, int stage) {
    auto uncut = spec;  // shards do not depend on tiles
    uncut.tiers.tiles.clear();
    const int rank = layout::Mesh{spec.parallel}.neighbour(spec::Axis::pipeline, 0, stage);
    const schedule::ModelLayout model{uncut, rank};
    const auto& open = spec.tiers.open;
    const auto& spans = spec.sharding;
    std::vector<AutoHome> kinds;
    if (open.optimizer) {
        kinds.push_back({&spec::Tiers::optimizer, &spec::StageState::optimizer, &spec::AutoHomes::optimizer,
                         chunks_of(spec, model, spans.optimizer)});
    }
    if (open.gradients && !spec.tiers.reuse) {
        kinds.push_back({&spec::Tiers::gradients, &spec::StageState::gradients, &spec::AutoHomes::gradients,
                         chunks_of(spec, model, spans.gradients)});
    }
    if (open.activations) {
        kinds.push_back({&spec::Tiers::activations, &spec::StageState::activations,
                         &spec::AutoHomes::activations, std::max<std::int64_t>(1, spec.model.layers)});
    }
    if (open.parameters) {
        kinds.push_back({&spec::Tiers::parameters, &spec::StageState::parameters,
                         &spec::AutoHomes::parameters, chunks_of(spec, model, spans.parameters)});
    }
    return kinds;
}

HomeSearch::HomeSearch(const spec::RunSpec& spec,
                       const spec::MachineSpec& machine,
                       const PlanningBudget& budget,
                       std::optional<int> stage)
    : spec_{spec},
      machine_{machine},
      budget_{budget},
      stage_{stage},
      kinds_{open_kinds(spec, stage.value_or(0))} {
    for (const auto& kind : kinds_) {
        total_bytes_ += kind.pieces;
    }
    if (shortened(spec, Size::of_search).spec != spec) {
        resolution_ = std::max<std::int64_t>(1, total_bytes_ / shares_of_large);
    }
}

spec::RunSpec HomeSearch::run() {
    const bool has_nvme = !spec_.tiers.nvme_paths.empty();
    const auto device_fits = [&](std::int64_t away) {
        return footprint(away, 0).shortfall(Tier::device) == 0;
    };
    away_ = min(total_bytes_, device_fits);
    if (has_nvme) {
        on_nvme_ = min(away_, [&](std::int64_t far) { return host_holds(footprint(away_, far)); });
    }
    make_room_for_all(has_nvme);
    auto chosen = with(away_, on_nvme_);
    chosen.tiers.open = {};
    return chosen;
}

bool HomeSearch::device_can_hold() const {
    return footprint(total_bytes_, 0).shortfall(Tier::device) == 0;
}

bool HomeSearch::device_can_keep_activations() const {
    std::int64_t away = 0;
    for (const auto& kind : kinds_) {
        if (kind.home == &spec::Tiers::activations) {
            break;
        }
        away += kind.pieces;
    }
    return footprint(away, 0).shortfall(Tier::device) == 0;
}

/// Returns the smallest number of pieces up to `max` for which `fits` is true; `max` if it never is.
///
/// The result is exact to resolution().
std::int64_t HomeSearch::min(std::int64_t max, const std::function<bool(std::int64_t)>& fits) const {
    if (max == 0 || fits(0)) {
        return 0;
    }
    if (!fits(max)) {
        return max;
    }
    std::int64_t too_few = 0;
    std::int64_t enough = max;
    while (enough - too_few > resolution()) {
        const auto middle = too_few + (enough - too_few) / 2;
        (fits(middle) ? enough : too_few) = middle;
    }
    return enough;
}

/// Returns the step of the bisection, in pieces. It grows as the budget is spent, until no more tries
/// are made.
std::int64_t HomeSearch::resolution() const {
    return budget_.is_spent()        ? total_bytes_
           : budget_.is_half_spent() ? std::max(resolution_, total_bytes_ / shares_of_large)
                                     : resolution_;
}

/// Moves more state away until all planned ranks fit.
///
/// Other ranks than the one of the search may need slightly more. Shards on NVMe begin at whole pages, which
/// can also need a little more memory of the device.
void HomeSearch::make_room_for_all(bool has_nvme) {
    for (std::int64_t step = 1;; step = budget_.is_spent() ? total_bytes_ : 2 * step) {
        found_ = footprint(away_, on_nvme_, PlannedRanks::several_in_search);
        const bool device_fits = found_.shortfall(Tier::device) == 0 || away_ == total_bytes_;
        const bool host_fits = host_holds(found_) || !has_nvme || on_nvme_ == away_;
        if (device_fits && host_fits) {
            return;
        }
        away_ = device_fits ? away_ : std::min(total_bytes_, away_ + step);
        on_nvme_ = host_fits ? on_nvme_ : std::min(away_, on_nvme_ + step);
    }
}

/// Returns the run with the first `away` pieces away from the device, of which the first `far` are on
/// NVMe.
spec::RunSpec HomeSearch::with(std::int64_t away, std::int64_t far) const {
    auto made = spec_;
    for (const auto& kind : kinds_) {
        const auto gone = std::min(away, kind.pieces);
        const auto gone_far = std::min(far, gone);
        away -= gone;
        far -= gone_far;
        spec::Home home;
        home.device = share(kind.pieces - gone, kind.pieces);
        home.host = share(gone - gone_far, kind.pieces);
        if (gone_far > 0) {
            home.nvme = std::max(0.0, 1 - (home.device + home.host));
        } else {
            home.nvme = 0;
            home.host = gone > 0 ? std::max(0.0, 1 - home.device) : 0;
            home.device = gone > 0 ? home.device : 1;
        }
        made.tiers.*kind.home = home;
        for (auto& state : made.stages) {
            state.*kind.of_stage = state.open.*kind.is_auto ? home : state.*kind.of_stage;
        }
    }
    if (made.tiers.reuse) {
        made.tiers.gradients = made.tiers.parameters;
        for (auto& state : made.stages) {
            state.gradients = state.parameters;
        }
    }
    if (made.tiers.gradients.device < 1 && made.tiers.open.reduce) {
        made.sharding.reduce = spec::ReducePlan::each_microbatch;
    }
    return made;
}

Footprint HomeSearch::footprint(std::int64_t away, std::int64_t far, PlannedRanks which) const {
    return plan_run(with(away, far), machine_, which, budget_.watch(), stage_).footprint;
}

}  // namespace ziggurat::plan
