#include "plan/search/choose_tiles.hpp"

#include <algorithm>
#include <utility>

#include "plan/search/home_search.hpp"
#include "plan/search/ops_budget.hpp"
#include "spec/depths.hpp"
#include "spec/tile_rules.hpp"

namespace ziggurat::plan {
namespace {

/// Maximum number of tiles per weight that the search tries.
constexpr int max_tiles_tried = 256;

/// Run whose weights all have the same number of tiles.
struct Tiled {
    int tiles = 1;
    bool fits = false;  ///< within the device's budget
    spec::RunSpec spec;
};

/// Returns the run with all weights divided into `tiles` tiles.
spec::RunSpec in_tiles(const spec::RunSpec& spec, int tiles) {
    auto made = spec;
    if (tiles > 1) {
        made.tiers.tiles = {{.match = spec::everything_to_cut(spec), .in = 1, .out = tiles}};
    }
    return made;
}

Tiled with_fewest_tiles(const spec::RunSpec& spec, const spec::MachineSpec& machine, const Watch& watch) {
    PlanningBudget budget{max_ops_of_homes / 2, watch};  // one of two searches
    const auto may_fit = [&](int tiles) {
        return HomeSearch{in_tiles(spec, tiles), machine, budget}.device_can_hold();
    };
    const int max = spec.sharding.secondary == 0 ? max_tiles_tried : 1;
    int too_few = 0;
    int enough = 1;
    bool fits = may_fit(enough);
    for (; !fits && enough < max; fits = may_fit(enough)) {
        too_few = enough;
        enough *= 4;  // runs with many tiles take the longest to build
    }
    while (fits && enough - too_few > 1 && !budget.is_half_spent()) {
        const int middle = too_few + (enough - too_few) / 2;
        (may_fit(middle) ? enough : too_few) = middle;
    }
    while (true) {
        Tiled made{.tiles = enough, .fits = false, .spec = in_tiles(spec, enough)};
        HomeSearch search{made.spec, machine, budget};  // only checks if no home is open
        auto chosen = search.run();
        made.fits = search.found().shortfall(spec::Tier::device) == 0;
        made.spec = std::move(chosen);
        if (made.fits || enough >= max) {
            return made;
        }
        // Tiles that pass through buffers for NVMe need slightly more memory.
        enough = budget.is_spent() ? max : std::min(max, 2 * enough);
    }
}

}  // namespace

spec::RunSpec choose_tiles(const spec::RunSpec& spec, const spec::MachineSpec& machine, const Watch& watch) {
    auto tried = spec;
    tried.tiers.open.tiles = tried.tiers.open.prefetch = false;
    const auto ahead = with_fewest_tiles(tried, machine, watch);
    if (!spec.tiers.open.prefetch || spec.overlap.prefetch == 0 || (ahead.fits && ahead.tiles <= 2)) {
        return ahead.spec;
    }
    tried.overlap.prefetch = 0;
    auto at_once = with_fewest_tiles(tried, machine, watch);
    const bool moves_state = spec::is_any_state_away(at_once.spec);  // otherwise no state moves
    if (!moves_state || !at_once.fits || (ahead.fits && ahead.tiles <= 2 * at_once.tiles)) {
        return ahead.spec;
    }
    at_once.spec.overlap.prefetch = spec.overlap.prefetch;  // choose_depths will reduce it
    return at_once.spec;
}

}  // namespace ziggurat::plan
