#include "plan/layouts/layout_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/units.hpp"
#include "plan/layouts/layout_bounds.hpp"
#include "plan/plan_run.hpp"

namespace ziggurat::plan {
namespace {

/// Returns the bytes of a rank's device, or its share of a node's memory; spec::unlimited if unknown.
std::int64_t device_limit(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    const auto of_machine = machine.has_device
                                ? machine.device_bytes
                                : machine.host_bytes / std::max(spec.parallel.ranks_per_node, 1);
    return std::min(spec.tiers.device_budget_bytes, of_machine > 0 ? of_machine : spec::unlimited);
}

/// Returns the larger footprint of the first and the last stage, or one that does not fit.
///
/// The first stage keeps most activations, the last has the logits.
Footprint footprint_of_ends(const spec::RunSpec& run, const spec::MachineSpec& machine, const Watch& watch) {
    auto larger = plan_run(run, machine, PlannedRanks::first, watch, 0).footprint;
    if (run.parallel.stages > 1 && larger.fits()) {
        auto last = plan_run(run, machine, PlannedRanks::first, watch, run.parallel.stages - 1).footprint;
        if (!last.fits() || last.needed[0] > larger.needed[0]) {
            larger = std::move(last);
        }
    }
    return larger;
}

class Search {
  public:
    Search(const spec::RunSpec& spec,
           const spec::MachineSpec& machine,
           const spec::LayoutSpace& space,
           const SearchLimits& limits,
           const Watch& watch)
        : spec_{spec}, machine_{machine}, space_{space}, limits_{limits}, watch_{watch} {}

    LayoutSearch run() {
        for (const auto& [choice, at_least] : by_bound()) {
            if (is_complete() && at_least >= made_.best.back().time.step_seconds) {
                ++made_.too_slow;
            } else if (made_.timed >= limits_.timed || footprints_ >= limits_.footprints) {
                ++made_.left_out;
            } else {
                plan(choice);
            }
        }
        if (made_.best.empty() && !made_.smallest && least_) {
            --made_.too_large;
            plan(*least_);
        }
        return std::move(made_);
    }

  private:
    struct Bounded {
        LayoutChoice choice;
        double step_seconds = 0;
    };

    bool is_complete() const { return made_.best.size() >= limits_.wanted; }

    std::vector<Bounded> by_bound() {
        const auto rates = rates_of(spec_, machine_);
        LayoutBounds bounds{spec_, rates, space_};
        const auto limit = device_limit(spec_, machine_);
        std::vector<Bounded> bounded;
        for (const auto& choice : all_layouts(spec_, space_)) {
            ++made_.all;
            const auto bytes = bounds.device_bytes(choice);
            if (bytes > limit) {
                ++made_.too_large;
                if (!least_ || bytes < least_bytes_) {
                    least_ = choice;
                    least_bytes_ = bytes;
                }
            } else {
                bounded.push_back({choice, bounds.step_seconds(choice)});
            }
        }
        std::ranges::stable_sort(bounded, {}, &Bounded::step_seconds);
        return bounded;
    }

    void plan(const LayoutChoice& choice) {
        const auto run = with_layout(spec_, choice, space_);
        FoundLayout found{choice, planned_time(run, machine_), {}};
        ++made_.timed;
        if (watch_) {
            watch_(1000);
        }
        if (is_complete() && found.time.step_seconds >= made_.best.back().time.step_seconds) {
            return;
        }
        found.footprint = footprint_of_ends(run, machine_, watch_);
        ++footprints_;
        if (!found.footprint.fits()) {
            ++made_.do_not_fit;
            if (!made_.smallest || found.footprint.total_lack() < made_.smallest->footprint.total_lack()) {
                made_.smallest = std::move(found);
            }
            return;
        }
        const auto place =
            std::ranges::upper_bound(made_.best, found.time.step_seconds, {},
                                     [](const FoundLayout& other) { return other.time.step_seconds; });
        made_.best.insert(place, std::move(found));
        if (made_.best.size() > limits_.wanted) {
            made_.best.pop_back();
        }
    }

    const spec::RunSpec& spec_;
    const spec::MachineSpec& machine_;
    const spec::LayoutSpace& space_;
    const SearchLimits& limits_;
    const Watch& watch_;
    std::optional<LayoutChoice> least_;  ///< of those whose bound does not fit, the one with the least bound
    std::int64_t least_bytes_ = 0;
    std::int64_t footprints_ = 0;
    LayoutSearch made_;
};

}  // namespace

LayoutSearch search_layouts(const spec::RunSpec& spec,
                            const spec::MachineSpec& machine,
                            const spec::LayoutSpace& space,
                            const SearchLimits& limits,
                            const Watch& watch) {
    return Search{spec, machine, space, limits, watch}.run();
}

std::string search_text(const LayoutSearch& search) {
    auto text = fmt::format(
        "search    {} layouts: {} too large and {} too slow by bounds, {} timed, {} of them do not fit",
        format_grouped(search.all), format_grouped(search.too_large), format_grouped(search.too_slow),
        format_grouped(search.timed), format_grouped(search.do_not_fit));
    if (search.left_out > 0) {
        text += fmt::format(", {} left out because the search has a limit", format_grouped(search.left_out));
    }
    return text + "\n";
}

}  // namespace ziggurat::plan
