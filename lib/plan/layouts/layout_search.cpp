#include "plan/layouts/layout_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "base/text/units.hpp"
#include "plan/for_each_on_threads.hpp"
#include "plan/layouts/accepted_layouts.hpp"
#include "plan/layouts/bounded_layouts.hpp"
#include "plan/layouts/layout_footprint.hpp"

namespace ziggurat::plan {
namespace {

/// Layouts in the order of their bounds. Bounds of the pipeline are computed when they are needed.
class LayoutQueue {
  public:
    struct Queued {
        LayoutChoice choice;
        double step_seconds = 0;
        std::int64_t index = 0;  ///< orders layouts with equal bounds
        bool is_close = false;   ///< the bound is that of the pipeline
    };

    explicit LayoutQueue(BoundedLayouts& bounds) : bounds_{bounds} {}

    void add(const BoundedLayout& layout) {
        queue_.push({layout.choice, layout.step_seconds, std::ssize(queue_), false});
    }

    /// Removes the next layout with a bound below `max` and returns it; nullopt if none is below.
    std::optional<LayoutChoice> next(double max) {
        while (!queue_.empty() && queue_.top().step_seconds < max) {
            auto first = queue_.top();
            queue_.pop();
            if (first.is_close) {
                return first.choice;
            }
            first.step_seconds = bounds_.pipeline_seconds(first.choice);
            first.is_close = true;
            queue_.push(first);
        }
        return std::nullopt;
    }

  private:
    struct IsLater {
        bool operator()(const Queued& one, const Queued& other) const {
            return std::pair{one.step_seconds, one.index} > std::pair{other.step_seconds, other.index};
        }
    };

    BoundedLayouts& bounds_;
    std::priority_queue<Queued, std::vector<Queued>, IsLater> queue_;
};

/// Layouts that are planned at the same time: enough for some threads, and few in vain.
constexpr std::int64_t planned_at_once = 4;

/// Work that the progress of a search counts for the time of a layout.
constexpr std::size_t ops_of_timed = 1000;

class Search {
  public:
    Search(const spec::RunSpec& spec,
           const spec::MachineSpec& machine,
           const spec::LayoutSpace& space,
           const spec::LayoutRules& rules,
           const SearchLimits& limits,
           const Watch& watch)
        : spec_{spec},
          machine_{machine},
          space_{space},
          limits_{limits},
          watch_{watch},
          rates_{rates_of(spec, machine)},
          accepted_{spec_, space_, rules},
          bounds_{spec_, rates_, space_, accepted_.candidates(), device_limit(spec_, machine_)},
          limits_spans_{space.spans == spec::SpanSettings{}},
          queue_{bounds_} {}

    LayoutSearch run() {
        fill_queue();
        bool is_done = false;
        while (!is_done) {
            // Layouts that may be among the fastest are timed first. Memory is planned of those that are.
            const auto next = next_layouts();
            time(next);
            is_done = next.empty() && !plan_memory();
        }
        const bool are_others_slower = !queue_.next(slowest_wanted());
        (are_others_slower ? made_.too_slow : made_.left_out) =
            made_.all - made_.refused - made_.too_large - made_.timed - made_.spans_left_out;
        made_.left_out += made_.spans_left_out;
        keep_wanted();
        if (made_.best.empty() && !made_.smallest) {
            plan_smallest();
        }
        if (made_.refused == made_.all) {
            made_.refused_choice = accepted_.closest_refused();
        }
        return std::move(made_);
    }

  private:
    /// Returns the seconds that a layout must be below to be among the fastest of those that may fit.
    double slowest_wanted() const {
        return made_.best.size() >= limits_.wanted ? made_.best[limits_.wanted - 1].time.step_seconds
                                                   : std::numeric_limits<double>::infinity();
    }

    void fill_queue() {
        const auto limit = device_limit(spec_, machine_);
        made_.all = made_.refused = accepted_.refused();
        for (const auto& layout : bounds_.all()) {
            ++made_.all;
            if (layout.device_bytes <= limit) {
                queue_.add(layout);
                continue;
            }
            ++made_.too_large;
            too_large_.push_back(layout);
        }
    }

    /// Plans the layout with the smallest bound that the rules accept, although it does not fit.
    void plan_smallest() {
        std::ranges::stable_sort(too_large_, {}, &BoundedLayout::device_bytes);
        for (const auto& layout : too_large_) {
            --made_.too_large;
            if (accepts(layout.choice)) {
                time({layout.choice});
                plan_memory();
                keep_wanted();
                return;
            }
        }
    }

    bool accepts(const LayoutChoice& choice) {
        const bool is_accepted = accepted_.accepts(choice);
        made_.refused += is_accepted ? 0 : 1;
        return is_accepted;
    }

    /// Removes the layouts from the queue that are timed next, at the same time.
    ///
    /// Their number does not depend on that of threads, so all machines get the same result.
    std::vector<LayoutChoice> next_layouts() {
        const auto count = std::min(limits_.timed - made_.timed, planned_at_once);
        std::vector<LayoutChoice> found;
        while (std::ssize(found) < count) {
            const auto next = queue_.next(slowest_wanted());
            if (!next) {
                break;
            }
            if (!accepts(*next)) {
                continue;
            }
            if (limits_spans_ && !spec::zero_stage_of(next->spans, next->data)) {
                if (timed_spans_ == limits_.spans) {
                    ++made_.spans_left_out;
                    continue;
                }
                ++timed_spans_;
            }
            found.push_back(*next);
        }
        return found;
    }

    void time(const std::vector<LayoutChoice>& choices) {
        std::vector<FoundLayout> timed(choices.size());
        for_each_on_threads(choices.size(), [&](std::size_t i) {
            timed[i] = {choices[i], planned_time(with_layout(spec_, choices[i], space_), machine_), {}};
        });
        for (auto& found : timed) {
            ++made_.timed;
            report(ops_of_timed);
            const auto place =
                std::ranges::upper_bound(made_.best, found.time.step_seconds, {},
                                         [](const FoundLayout& other) { return other.time.step_seconds; });
            made_.best.insert(place, std::move(found));
        }
    }

    /// Plans the memory of some of the fastest layouts for which it is not known, and removes those that do
    /// not fit. Returns false if it is known of all, or if the search has reached its limit.
    bool plan_memory() {
        std::vector<std::size_t> unknown;
        const auto left = limits_.footprints - footprints_;
        for (std::size_t i = 0; i < std::min(made_.best.size(), limits_.wanted); ++i) {
            if (!is_planned(made_.best[i]) && std::ssize(unknown) < std::min(left, planned_at_once)) {
                unknown.push_back(i);
            }
        }
        std::vector<std::size_t> ops(unknown.size());
        for_each_on_threads(unknown.size(), [&](std::size_t i) {
            auto& found = made_.best[unknown[i]];
            found.footprint = footprint_of_ends(with_layout(spec_, found.choice, space_), machine_,
                                                [&](std::size_t built) { ops[i] += built; });
        });
        footprints_ += std::ssize(unknown);
        for (auto i = unknown.rbegin(); i != unknown.rend(); ++i) {
            const auto at = made_.best.begin() + static_cast<std::ptrdiff_t>(*i);
            if (!at->footprint.fits()) {
                ++made_.do_not_fit;
                keep_smallest(std::move(*at));
                made_.best.erase(at);
            }
        }
        report(std::accumulate(ops.begin(), ops.end(), std::size_t{0}));
        return !unknown.empty();
    }

    static bool is_planned(const FoundLayout& found) { return found.footprint.needed[0] > 0; }

    void keep_smallest(FoundLayout found) {
        if (!made_.smallest || found.footprint.total_lack() < made_.smallest->footprint.total_lack()) {
            made_.smallest = std::move(found);
        }
    }

    /// Removes the timed layouts that are slower than the wanted ones.
    ///
    /// A layout whose memory was not planned, because of the limits, is left out.
    void keep_wanted() {
        made_.best.resize(std::min(made_.best.size(), limits_.wanted));
        const auto unplanned =
            std::erase_if(made_.best, [](const FoundLayout& found) { return !is_planned(found); });
        made_.timed -= static_cast<std::int64_t>(unplanned);
        made_.left_out += static_cast<std::int64_t>(unplanned);
    }

    void report(std::size_t ops) const {
        if (watch_) {
            watch_(ops);
        }
    }

    const spec::RunSpec& spec_;
    const spec::MachineSpec& machine_;
    const spec::LayoutSpace& space_;
    const SearchLimits& limits_;
    const Watch& watch_;
    Rates rates_;
    AcceptedLayouts accepted_;
    BoundedLayouts bounds_;
    bool limits_spans_;  ///< the space has ZeRO stages and other spans
    LayoutQueue queue_;
    std::vector<BoundedLayout> too_large_;
    std::int64_t footprints_ = 0;
    std::int64_t timed_spans_ = 0;
    LayoutSearch made_;
};

}  // namespace

LayoutSearch search_layouts(const spec::RunSpec& spec,
                            const spec::MachineSpec& machine,
                            const spec::LayoutSpace& space,
                            const spec::LayoutRules& rules,
                            const SearchLimits& limits,
                            const Watch& watch) {
    return Search{spec, machine, space, rules, limits, watch}.run();
}

std::string search_text(const LayoutSearch& search) {
    const bool is_for_time = search.objective == LayoutObjective::time;
    auto text = fmt::format(
        "search    {} layouts: {} too large and {} {} by bounds, {} {}, {} of them do not fit",
        format_grouped(search.all), format_grouped(search.too_large), format_grouped(search.too_slow),
        is_for_time ? "too slow" : "with more memory", format_grouped(search.timed),
        is_for_time ? "timed" : "planned", format_grouped(search.do_not_fit));
    if (search.refused > 0) {
        text += fmt::format(", {} refused by rules of the deck", format_grouped(search.refused));
    }
    if (const auto others = search.left_out - search.spans_left_out; others > 0) {
        text += fmt::format(", {} left out because the search has a limit", format_grouped(others));
    }
    if (search.spans_left_out > 0) {
        text += fmt::format(
            "\n          {} with spans within nodes may be as fast and are left out: only those with the "
            "lowest "
            "bounds are timed",
            format_grouped(search.spans_left_out));
    }
    return text + "\n";
}

}  // namespace ziggurat::plan
