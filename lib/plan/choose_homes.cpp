#include "plan/choose_homes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "plan/footprint.hpp"
#include "plan/ops_budget.hpp"
#include "plan/plan_run.hpp"
#include "plan/short_run.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/passes/homes.hpp"
#include "spec/depths.hpp"

namespace ziggurat::plan {
namespace {

using spec::Tier;

/// A kind whose home is open: which, and in how many pieces it can be divided.
struct OpenHome {
    spec::Home spec::Tiers::*home;
    std::int64_t pieces = 1;
};

/// Chunks of a rank's shards of a kind that is cut over `span` ranks.
std::int64_t chunks_of(const spec::RunSpec& spec, const schedule::ModelLayout& model, int span) {
    std::int64_t elements = 0;
    for (const int unit : model.units) {
        const auto& shards = model.shards[static_cast<std::size_t>(unit)];
        elements += shards.shard(span, model.data_rank).size();
    }
    const auto chunk = chunk_elements(spec);
    return std::max<std::int64_t>(1, (elements + chunk - 1) / chunk);
}

/// Those that are open, in the order in which they leave.
std::vector<OpenHome> open_kinds(const spec::RunSpec& spec) {
    auto uncut = spec;  // shards are the same
    uncut.tiers.tiles.clear();
    const schedule::ModelLayout model{uncut, 0};
    const auto& open = spec.tiers.open;
    const auto& spans = spec.sharding;
    std::vector<OpenHome> kinds;
    if (open.optimizer) {
        kinds.push_back({&spec::Tiers::optimizer, chunks_of(spec, model, spans.optimizer)});
    }
    if (open.gradients) {
        kinds.push_back({&spec::Tiers::gradients, chunks_of(spec, model, spans.gradients)});
    }
    if (open.activations) {
        kinds.push_back({&spec::Tiers::activations, std::max<std::int64_t>(1, spec.model.layers)});
    }
    if (open.parameters) {
        kinds.push_back({&spec::Tiers::parameters, chunks_of(spec, model, spans.parameters)});
    }
    return kinds;
}

/// In millionths, as decks have them, of which rounding to whole chunks loses none.
double share(std::int64_t part, std::int64_t whole) {
    return std::round(1e6 * static_cast<double>(part) / static_cast<double>(whole)) / 1e6;
}

/// Into which a weight is cut by itself.
constexpr int most_tiles = 256;

/// Into so many parts is divided what is divided of a run with large programs, and once half of the ops have
/// been built that a search may build.
constexpr std::int64_t shares_of_large = 64;

/// Ops of all programs that a search for homes builds, and each of the two that seek tiles.
constexpr std::size_t most_ops = 600'000;
constexpr std::size_t most_ops_of_tiles = 400'000;

class Chooser {
  public:
    Chooser(const spec::RunSpec& spec, const spec::MachineSpec& machine, const OpsBudget& budget)
        : spec_{spec}, machine_{machine}, budget_{budget}, kinds_{open_kinds(spec)} {
        for (const auto& kind : kinds_) {
            all_ += kind.pieces;
        }
        if (shortened(spec, Size::of_search) != spec) {
            resolution_ = std::max<std::int64_t>(1, all_ / shares_of_large);
        }
    }

    spec::RunSpec run() {
        const bool has_nvme = !spec_.tiers.nvme_paths.empty();
        const auto device_fits = [&](std::int64_t away) {
            return footprint(away, 0).lack(Tier::device) == 0;
        };
        away_ = least(all_, device_fits);
        if (has_nvme) {
            on_nvme_ = least(away_, [&](std::int64_t far) { return host_holds(footprint(away_, far)); });
        }
        make_room_for_all(has_nvme);
        auto chosen = with(away_, on_nvme_);
        chosen.tiers.open = {};
        return chosen;
    }

    /// Whether the device holds what is left there when all that can go is on the host.
    bool device_can_hold() const { return footprint(all_, 0).lack(Tier::device) == 0; }

  private:
    static bool host_holds(const Footprint& found) {
        return found.lack(Tier::host) == 0 && found.memory_lack() == 0;
    }

    /// The least number of pieces, up to `most` and as near as resolution() says, with which `fits`; `most`
    /// when none does.
    std::int64_t least(std::int64_t most, const std::function<bool(std::int64_t)>& fits) const {
        if (most == 0 || fits(0)) {
            return 0;
        }
        if (!fits(most)) {
            return most;
        }
        std::int64_t too_few = 0;
        std::int64_t enough = most;
        while (enough - too_few > resolution()) {
            const auto middle = too_few + (enough - too_few) / 2;
            (fits(middle) ? enough : too_few) = middle;
        }
        return enough;
    }

    /// In pieces. What is left of the budget goes into ever fewer tries; in the end what is enough has to do.
    std::int64_t resolution() const {
        return budget_.is_spent()        ? all_
               : budget_.is_half_spent() ? std::max(resolution_, all_ / shares_of_large)
                                         : resolution_;
    }

    /// Other ranks than the one that was searched with may need a little more, and state on NVMe has its
    /// shards at whole pages, which may take the last bytes of the device.
    void make_room_for_all(bool has_nvme) {
        for (std::int64_t step = 1;; step = budget_.is_spent() ? all_ : 2 * step) {
            const auto found =
                plan_run(with(away_, on_nvme_), machine_, PlannedRanks::several, budget_.watch()).footprint;
            const bool device_fits = found.lack(Tier::device) == 0 || away_ == all_;
            const bool host_fits = host_holds(found) || !has_nvme || on_nvme_ == away_;
            if (device_fits && host_fits) {
                return;
            }
            away_ = device_fits ? away_ : std::min(all_, away_ + step);
            on_nvme_ = host_fits ? on_nvme_ : std::min(away_, on_nvme_ + step);
        }
    }

    /// The first `away` pieces away from the device, of these the first `far` on NVMe.
    spec::RunSpec with(std::int64_t away, std::int64_t far) const {
        auto made = spec_;
        for (const auto& kind : kinds_) {
            const auto gone = std::min(away, kind.pieces);
            const auto gone_far = std::min(far, gone);
            away -= gone;
            far -= gone_far;
            auto& home = made.tiers.*kind.home;
            home.device = share(kind.pieces - gone, kind.pieces);
            home.host = share(gone - gone_far, kind.pieces);
            if (gone_far > 0) {
                home.nvme = std::max(0.0, 1 - (home.device + home.host));
            } else {
                home.nvme = 0;
                home.host = gone > 0 ? std::max(0.0, 1 - home.device) : 0;
                home.device = gone > 0 ? home.device : 1;
            }
        }
        if (made.tiers.gradients.device < 1 && made.tiers.open.reduce) {
            made.sharding.reduce = spec::ReducePlan::each_microbatch;
        }
        return made;
    }

    Footprint footprint(std::int64_t away, std::int64_t far) const {
        return plan_run(with(away, far), machine_, PlannedRanks::first, budget_.watch()).footprint;
    }

    const spec::RunSpec& spec_;
    const spec::MachineSpec& machine_;
    const OpsBudget& budget_;
    std::vector<OpenHome> kinds_;
    std::int64_t all_ = 0;
    std::int64_t resolution_ = 1;  ///< pieces; of large programs more, so that fewer of them are tried
    std::int64_t away_ = 0;
    std::int64_t on_nvme_ = 0;
};

/// A run whose weights are all cut into as many tiles.
struct Tiled {
    int tiles = 1;
    bool fits = false;  ///< the device's budget
    spec::RunSpec spec;
};

/// With all weights cut into so many.
spec::RunSpec in_tiles(const spec::RunSpec& spec, int tiles) {
    auto made = spec;
    if (tiles > 1) {
        made.tiers.tiles = {{.match = "*", .in = 1, .out = tiles}};
    }
    return made;
}

/// With the fewest tiles that fit, and homes that are chosen for them; with as many as there can be where
/// none do. The number is sought with all state away that can go, where least is on the device.
Tiled with_fewest_tiles(const spec::RunSpec& spec, const spec::MachineSpec& machine, const Watch& watch) {
    OpsBudget budget{most_ops_of_tiles, watch};
    const auto may_fit = [&](int tiles) {
        return Chooser{in_tiles(spec, tiles), machine, budget}.device_can_hold();
    };
    const int most = spec.sharding.secondary == 0 ? most_tiles : 1;
    int too_few = 0;
    int enough = 1;
    bool fits = may_fit(enough);
    for (; !fits && enough < most; fits = may_fit(enough)) {
        too_few = enough;
        enough *= 4;  // tries of many tiles take longest
    }
    while (fits && enough - too_few > 1 && !budget.is_half_spent()) {
        const int middle = too_few + (enough - too_few) / 2;
        (may_fit(middle) ? enough : too_few) = middle;
    }
    while (true) {
        Tiled made{.tiles = enough, .fits = false, .spec = in_tiles(spec, enough)};
        if (spec.tiers.open.any()) {
            made.spec = Chooser{made.spec, machine, budget}.run();
        }
        const auto footprint = plan_run(made.spec, machine, PlannedRanks::several, budget.watch()).footprint;
        made.fits = footprint.lack(Tier::device) == 0;
        if (made.fits || enough >= most) {
            return made;
        }
        // What passes through tiles on NVMe takes a little more.
        enough = budget.is_spent() ? most : std::min(most, 2 * enough);
    }
}

/// Fetching ahead is worth twice as many tiles as there could be without.
spec::RunSpec choose_tiles(const spec::RunSpec& spec, const spec::MachineSpec& machine, const Watch& watch) {
    auto tried = spec;
    tried.tiers.open.tiles = tried.tiers.open.prefetch = false;
    const auto ahead = with_fewest_tiles(tried, machine, watch);
    if (!spec.tiers.open.prefetch || spec.overlap.prefetch == 0 || (ahead.fits && ahead.tiles <= 2)) {
        return ahead.spec;
    }
    tried.overlap.prefetch = 0;
    auto at_once = with_fewest_tiles(tried, machine, watch);
    const bool moves_state = spec::is_any_state_away(at_once.spec.tiers);  // else all of it stays where it is
    if (!moves_state || !at_once.fits || (ahead.fits && ahead.tiles <= 2 * at_once.tiles)) {
        return ahead.spec;
    }
    at_once.spec.overlap.prefetch = spec.overlap.prefetch;  // choose_depths will see that it does not fit
    return at_once.spec;
}

}  // namespace

spec::RunSpec choose_homes(const spec::RunSpec& spec, const spec::MachineSpec& machine, const Watch& watch) {
    if (spec.tiers.open.tiles) {
        return choose_tiles(spec, machine, watch);
    }
    if (!spec.tiers.open.any()) {
        return spec;
    }
    return Chooser{spec, machine, OpsBudget{most_ops, watch}}.run();
}

}  // namespace ziggurat::plan
