#include "plan/layouts/smallest_layouts.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/for_each_on_threads.hpp"
#include "plan/layouts/accepted_layouts.hpp"
#include "plan/layouts/bounded_layouts.hpp"
#include "plan/layouts/layout_footprint.hpp"

namespace ziggurat::plan {
namespace {

/// Layouts that are planned at the same time. All machines plan the same ones.
constexpr std::size_t footprints_at_once = 8;

/// Returns the layouts `choices`, by their bounds.
std::vector<BoundedLayout> by_bounds(const spec::RunSpec& spec,
                                     const spec::MachineSpec& machine,
                                     const spec::LayoutSpace& space,
                                     const std::vector<LayoutChoice>& choices) {
    const auto rates = rates_of(spec, machine);
    auto all = BoundedLayouts{spec, rates, space, choices, device_limit(spec, machine)}.all();
    std::ranges::stable_sort(all, {}, [](const BoundedLayout& one) {
        return std::pair{one.device_bytes, one.step_seconds};
    });
    return all;
}

/// Keeps the first `wanted` layouts. `time_of` is called for those, and for others with the same bytes.
///
/// \param best  by bytes
void keep_wanted(std::vector<FoundLayout>& best,
                 std::size_t wanted,
                 const std::function<PlannedTime(const FoundLayout&)>& time_of) {
    if (best.size() > wanted) {
        const auto& last = best[wanted - 1].footprint.needed;
        std::erase_if(best,
                      [last = last](const FoundLayout& found) { return found.footprint.needed > last; });
    }
    for_each_on_threads(best.size(), [&](std::size_t i) { best[i].time = time_of(best[i]); });
    std::ranges::stable_sort(best, needs_less_memory);
    best.resize(std::min(best.size(), wanted));
}

}  // namespace

bool needs_less_memory(const FoundLayout& one, const FoundLayout& other) {
    const auto key = [](const FoundLayout& layout) {
        const auto& needed = layout.footprint.needed;
        return std::tuple{needed[0], needed[1], needed[2], layout.time.step_seconds};
    };
    return key(one) < key(other);
}

LayoutSearch search_smallest_layouts(const spec::RunSpec& spec,
                                     const spec::MachineSpec& machine,
                                     const spec::LayoutSpace& space,
                                     const spec::LayoutRules& rules,
                                     const SearchLimits& limits,
                                     const Watch& watch) {
    AcceptedLayouts accepted{spec, space, rules};
    const auto all = by_bounds(spec, machine, space, accepted.candidates());
    const auto limit = device_limit(spec, machine);
    LayoutSearch made;
    made.objective = LayoutObjective::memory;
    made.refused = accepted.refused();
    made.all = std::ssize(all) + made.refused;
    std::size_t next = 0;
    std::int64_t chosen = 0;  // layouts that are planned
    // The smallest layout is planned even if its bound does not fit: it has the smallest shortfall.
    const auto is_wanted = [&](std::size_t i) {
        const auto bytes = all[i].device_bytes;
        const bool may_be_best =
            made.best.size() < limits.wanted || bytes <= made.best[limits.wanted - 1].footprint.needed[0];
        return (chosen == 0 || bytes <= limit) && may_be_best;
    };
    while (next < all.size() && is_wanted(next) && made.timed < limits.footprints) {
        const auto left = static_cast<std::size_t>(limits.footprints - made.timed);
        std::vector<FoundLayout> planned;
        while (next < all.size() && planned.size() < std::min(footprints_at_once, left) && is_wanted(next)) {
            const auto& choice = all[next++].choice;
            if (accepted.accepts(choice)) {
                planned.push_back({choice, {}, {}});
                ++chosen;
            } else {
                ++made.refused;
            }
        }
        std::vector<std::size_t> ops(planned.size());
        for_each_on_threads(planned.size(), [&](std::size_t i) {
            const auto run = with_layout(spec, planned[i].choice, space);
            planned[i].footprint =
                footprint_of_ends(run, machine, [&](std::size_t built) { ops[i] += built; });
        });
        for (std::size_t i = 0; i < planned.size(); ++i) {
            auto& found = planned[i];
            ++made.timed;
            if (watch) {
                watch(ops[i]);
            }
            if (found.footprint.fits()) {
                made.best.insert(std::ranges::upper_bound(made.best, found, needs_less_memory),
                                 std::move(found));
                continue;
            }
            ++made.do_not_fit;
            if (!made.smallest || found.footprint.total_lack() < made.smallest->footprint.total_lack()) {
                made.smallest = std::move(found);
            }
        }
    }
    if (made.refused == made.all) {
        made.refused_choice = accepted.closest_refused();
    }
    const bool is_limited = next < all.size() && made.timed >= limits.footprints && is_wanted(next);
    for (; next < all.size(); ++next) {
        const bool is_too_large = all[next].device_bytes > limit;
        ++(is_too_large ? made.too_large : is_limited && is_wanted(next) ? made.left_out : made.too_slow);
    }
    keep_wanted(made.best, limits.wanted, [&](const FoundLayout& found) {
        return planned_time(with_layout(spec, found.choice, space), machine);
    });
    if (made.smallest) {
        made.smallest->time = planned_time(with_layout(spec, made.smallest->choice, space), machine);
    }
    return made;
}

}  // namespace ziggurat::plan
