#include "plan/search/choose_depths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/text/units.hpp"
#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "plan/reduced_run.hpp"
#include "plan/search/depth_times.hpp"
#include "plan/search/ops_budget.hpp"
#include "plan/stage_kinds.hpp"
#include "plan/time_to_train.hpp"
#include "schedule/build_program.hpp"

namespace ziggurat::plan {
namespace {

/// Lower limit when chunks shrink because memory is short: smaller chunks save little.
constexpr std::int64_t smallest_chunk = std::int64_t{64} << 10;

constexpr double as_good = 1.02;

/// With depth 1, a unit is fetched and gathered during the computation of the unit before it. The plan
/// may find that sufficient, but then every delay becomes a stall. So 1 is chosen only if it is faster.
constexpr int usual_prefetch = 2;

/// Bounds of the relative difference between the first rank of a search and those of a plan.
///
/// Ranks differ by a tenth at most. Larger chunks and fewer layers overestimate.
constexpr spec::ByTier<double> error_of_search{0.15, 0.25, 0.25};

/// Number of layers that suffices: such a program reaches its steady state long before its end.
constexpr std::int64_t layers_to_time = 12;

/// The same for micro-batches by layer: all of them use what is fetched one time.
constexpr int microbatches_to_time = 8;

/// Part of max_ops_of_depths for timing depths. The rest is for checking budgets. Depths that are not
/// tried within it are not chosen.
constexpr std::size_t max_ops_timed = max_ops_of_depths / 3;

/// Returns a shorter run with equal time per layer and micro-batch, and with chunks of the size of a
/// search.
spec::RunSpec short_of(const spec::RunSpec& spec) {
    auto shorter = shortened(spec, Size::of_search).spec;
    const auto& parallel = spec.parallel;
    const int microbatches = spec.train.is_by_layer() ? microbatches_to_time : 2 * parallel.stages;
    shorter.train.micro_batches = std::min<std::int64_t>(spec.train.micro_batches, microbatches);
    if (spec.train.only.empty() && parallel.stages * parallel.chunks_per_stage == 1) {
        shorter.model.layers = std::min(shorter.model.layers, layers_to_time);
    }
    if (shorter.model.layers < spec.model.layers || shorter.train.micro_batches < spec.train.micro_batches) {
        shorter.tiers.movement = spec::Movement::fixed;
    }
    return shorter;
}

class DepthChooser {
  public:
    DepthChooser(const spec::RunSpec& spec,
                 const spec::MachineSpec& machine,
                 spec::AutoDepths open,
                 const Rates& rates,
                 const Watch& watch)
        : spec_{spec},
          machine_{machine},
          open_{open},
          rates_{rates},
          budget_{max_ops_of_depths - max_ops_timed, watch},
          timed_{max_ops_timed, watch} {
        if (open.optimizer_prefetch) {
            spec_.overlap.optimizer_prefetch = 0;
        }
    }

    spec::Depths run() {
        if (open_.chunk) {
            choose_chunk();
        }
        found_.chunk_elements = spec_.tiers.chunk_elements;
        choose_how_far_ahead();
        return found_;
    }

  private:
    /// Step time of the first rank of a stage.
    struct StageTime {
        int rank = 0;
        LaneTime time;
    };

    spec::RunSpec with(const DepthTime& ahead) const {
        auto spec = spec_;
        spec.overlap.prefetch = ahead.prefetch;
        spec.overlap.optimizer_prefetch = ahead.optimizer_prefetch;
        return spec;
    }

    std::int64_t shortfall(const DepthTime& ahead) {
        const std::array<std::int64_t, 3> key{ahead.prefetch, ahead.optimizer_prefetch,
                                              spec_.tiers.chunk_elements};
        const auto [known, is_new] = lacks_.try_emplace(key, 0);
        if (is_new) {
            auto spec = with(ahead);
            spec.tiers.movement = spec::Movement::fixed;  // chunks use only what this leaves free
            auto first = plan_run(spec, machine_, PlannedRanks::first, budget_.watch());
            known->second = first.footprint.total_lack();
            if (known->second == 0 && !first.footprint.is_clear(error_of_search)) {
                known->second = plan_several_in_search(std::move(first), spec, machine_, budget_.watch())
                                    .footprint.total_lack();
            }
        }
        return known->second;
    }

    void choose_chunk() {
        if (spec_.tiers.movement == spec::Movement::chunks && missing_rates(spec_, machine_).empty()) {
            choose_fastest_chunk();
            return;
        }
        const auto elements = max_updated_elements(spec_);
        const auto usual = spec::usual_chunk(elements);
        auto& chunk = spec_.tiers.chunk_elements;
        chunk = usual;
        const bool fits =
            open_.prefetch ? halve_chunk(1) || halve_chunk(0) : halve_chunk(spec_.overlap.prefetch);
        chunk = fits ? chunk : usual;
        found_.chunk_reason =
            chunk < usual ? fmt::format("limited by the budgets; {} elements", format_grouped(elements))
                          : fmt::format("{} of a rank's {} elements", (elements + chunk - 1) / chunk,
                                        format_grouped(elements));
    }

    /// Takes the power of two with the shortest planned step within the budgets; else the usual size.
    ///
    /// It times all from the smallest chunk to one chunk for the whole rank, at the depth that is usual or
    /// given, or at a smaller one if the budgets need that.
    void choose_fastest_chunk() {
        const auto elements = max_updated_elements(spec_);
        const auto usual = spec::usual_chunk(elements);
        auto largest = std::max(smallest_chunk, usual);
        while (largest < elements && largest < spec::chunk_at_rest(spec::DeviceKind::cuda)) {
            largest *= 2;
        }
        std::map<double, std::int64_t> timed;  // by seconds of the step
        const auto depths =
            open_.prefetch ? std::vector{usual_prefetch, 1, 0} : std::vector{spec_.overlap.prefetch};
        for (std::size_t d = 0; d < depths.size() && timed.empty(); ++d) {
            const DepthTime ahead{.prefetch = depths[d],
                                  .optimizer_prefetch = spec_.overlap.optimizer_prefetch};
            for (auto chunk = largest; chunk >= smallest_chunk && !budget_.is_spent(); chunk /= 2) {
                spec_.tiers.chunk_elements = chunk;
                if (shortfall(ahead) == 0) {
                    timed.try_emplace(planned_time(with(ahead), machine_).step_seconds, chunk);
                }
            }
        }
        spec_.tiers.chunk_elements = timed.empty() ? usual : timed.begin()->second;
        found_.chunk_reason =
            timed.empty()
                ? fmt::format("the usual size; the budgets hold none of {} elements",
                              format_grouped(elements))
                : fmt::format("the shortest planned step: {}", format_duration(timed.begin()->first));
    }

    /// Halves the chunk from the usual size until the budgets suffice at that depth of prefetch.
    ///
    /// Returns false if they never suffice.
    bool halve_chunk(int prefetch) {
        auto& chunk = spec_.tiers.chunk_elements;
        chunk = spec::usual_chunk(max_updated_elements(spec_));
        const DepthTime ahead{.prefetch = prefetch, .optimizer_prefetch = spec_.overlap.optimizer_prefetch};
        auto short_of_bytes = shortfall(ahead);
        while (short_of_bytes > 0 && chunk > smallest_chunk && !budget_.is_spent()) {
            chunk /= 2;
            const auto before = short_of_bytes;
            short_of_bytes = shortfall(ahead);
            // The memory of chunks halves each time, so all further halvings together gain less than this
            // one.
            if (short_of_bytes >= before - short_of_bytes && short_of_bytes > 0) {
                break;
            }
        }
        return short_of_bytes == 0;
    }

    void choose_how_far_ahead() {
        const auto tried = planned_steps();
        const auto wanted = min_of_the_best(tried);
        auto chosen = best_that_fits(tried);
        if (open_.prefetch) {
            found_.prefetch_reason = times_by_prefetch(tried);
        }
        if (open_.optimizer_prefetch) {
            found_.optimizer_prefetch_reason = optimizer_prefetch_reason(tried, wanted, chosen);
        }
        const auto short_of_bytes = open_.prefetch ? shortfall(chosen) : 0;
        if (open_.prefetch && short_of_bytes == 0) {
            found_.prefetch_reason += held(wanted.prefetch, chosen.prefetch);
        } else if (open_.prefetch) {
            const DepthTime at_once{.prefetch = 0, .optimizer_prefetch = spec_.overlap.optimizer_prefetch};
            const auto still_short = shortfall(at_once);
            chosen = still_short < short_of_bytes ? at_once : chosen;  // slow, but with less shortfall
            found_.prefetch_reason += still_short > 0 ? "; the budgets hold none" : "; the budgets hold 0";
            if (open_.optimizer_prefetch && chosen.prefetch == 0) {
                found_.optimizer_prefetch_reason = "no prefetching";
            }
        }
        found_.prefetch = chosen.prefetch;
        found_.optimizer_prefetch = chosen.optimizer_prefetch;
        if (depends_on_unknown_disks(spec_, machine_, open_)) {
            found_.ahead_reason(open_) +=
                fmt::format("; assumes {}B/s for a node's disks; measure them with 'ziggurat bench io'",
                            format_count(rates_.nvme_read * std::max(spec_.parallel.ranks_per_node, 1)));
        }
    }

    /// Returns the times of all open depths, in ascending order of prefetch, then of optimizer_prefetch.
    std::vector<DepthTime> planned_steps() {
        const int given = spec_.overlap.prefetch;
        std::vector<DepthTime> tried;
        for (int prefetch = open_.prefetch ? 1 : given; prefetch <= (open_.prefetch ? deepest : given);
             ++prefetch) {
            if (!open_.optimizer_prefetch) {
                tried.push_back(
                    {.prefetch = prefetch, .optimizer_prefetch = spec_.overlap.optimizer_prefetch});
                continue;
            }
            for (const int times : optimizer_depths) {
                tried.push_back({.prefetch = prefetch, .optimizer_prefetch = times * prefetch});
                if (!reads_states() || prefetch == 0) {
                    break;
                }
            }
        }
        if (tried.size() == 1) {
            tried.front().seconds = 1;  // nothing to compare with
            return tried;
        }
        std::size_t timed = 0;
        while (timed < tried.size() && !timed_.is_spent()) {
            auto& ahead = tried[timed++];
            const auto time = time_of_slowest(short_of(with(ahead)));
            ahead.seconds = time.seconds;
            if (time.seconds > as_good * time.busy) {
                continue;
            }
            // No larger depth is better than as_good.
            if (ahead.prefetch >= usual_prefetch) {
                break;
            }
            const auto next =
                std::ranges::find_if(tried.begin() + static_cast<std::ptrdiff_t>(timed), tried.end(),
                                     [&](const DepthTime& other) { return other.prefetch > ahead.prefetch; });
            tried.erase(tried.begin() + static_cast<std::ptrdiff_t>(timed), next);
        }
        tried.resize(timed);
        return tried;
    }

    /// Returns the step time of a pipeline, which is that of its slowest stage.
    ///
    /// With a larger depth, no stage becomes slower: it has more time for its fetches. So a stage is skipped
    /// if its time at the smallest depth is below the current maximum.
    LaneTime time_of_slowest(const spec::RunSpec& shorter) {
        const bool is_first = at_least_depth_.empty();
        if (is_first) {
            for (const int rank : ranks_of_each_kind(spec_)) {
                at_least_depth_.push_back({rank, time_of(shorter, rank)});
            }
            std::ranges::stable_sort(at_least_depth_, std::ranges::greater{},
                                     [](const StageTime& of) { return of.time.seconds; });
            return at_least_depth_.front().time;
        }
        LaneTime longest;
        for (const auto& [rank, time] : at_least_depth_) {
            if (time.seconds > longest.seconds) {
                const auto now = time_of(shorter, rank);
                longest = now.seconds > longest.seconds ? now : longest;
            }
        }
        return longest;
    }

    LaneTime time_of(const spec::RunSpec& shorter, int rank) {
        const schedule::ModelLayout model{shorter, rank};
        const auto program = schedule::build_timed(shorter, model);
        timed_.watch()(program.ops.size());
        return lane_time(program, shorter, model, rates_);
    }

    bool reads_states() const { return spec::are_optimizer_states_on_nvme(spec_); }

    /// Returns the first depth that no other beats, with at least the usual prefetch if such a depth
    /// exists.
    static DepthTime min_of_the_best(const std::vector<DepthTime>& tried) {
        const double best = std::ranges::min_element(tried, {}, &DepthTime::seconds)->seconds;
        const auto is_good = [&](const DepthTime& ahead) { return ahead.seconds <= as_good * best; };
        const auto usual = std::ranges::find_if(tried, [&](const DepthTime& ahead) {
            return is_good(ahead) && ahead.prefetch >= usual_prefetch;
        });
        return usual != tried.end() ? *usual : *std::ranges::find_if(tried, is_good);
    }

    /// Returns the same among depths within the budgets; the first of all if no depth is.
    DepthTime best_that_fits(const std::vector<DepthTime>& tried) {
        for (auto left = tried; !left.empty();) {
            const auto chosen = min_of_the_best(left);
            if (shortfall(chosen) == 0) {
                return chosen;
            }
            if (budget_.is_spent()) {
                break;
            }
            std::erase_if(left, [&](const DepthTime& other) {
                return other.prefetch >= chosen.prefetch &&
                       other.optimizer_prefetch >= chosen.optimizer_prefetch;
            });
        }
        return tried.front();
    }

    std::string optimizer_prefetch_reason(const std::vector<DepthTime>& tried,
                                          const DepthTime& wanted,
                                          const DepthTime& chosen) const {
        if (!reads_states()) {
            return "no optimizer states on NVMe";
        }
        return times_by_optimizer_prefetch(tried, chosen.prefetch) +
               held(wanted.optimizer_prefetch, chosen.optimizer_prefetch);
    }

    std::string held(int wanted, int chosen) const {
        return chosen >= wanted ? ""
               : budget_.is_spent()
                   ? fmt::format("; {} without trying all depths, because the program is large", chosen)
                   : fmt::format("; the budgets hold {}", chosen);
    }

    spec::RunSpec spec_;
    const spec::MachineSpec& machine_;
    spec::AutoDepths open_;
    Rates rates_;
    PlanningBudget budget_;                  ///< for programs that shortfall() builds
    PlanningBudget timed_;                   ///< for programs that are timed
    std::vector<StageTime> at_least_depth_;  ///< the slowest first
    spec::Depths found_;
    std::map<std::array<std::int64_t, 3>, std::int64_t> lacks_;  ///< by depths and chunk
};

}  // namespace

spec::Depths choose_depths(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           spec::AutoDepths open,
                           const Rates& rates,
                           const Watch& watch) {
    if (!spec::is_any_state_away(spec)) {
        return spec::depths_at_rest(spec, open);
    }
    return DepthChooser{spec, machine, open, rates, watch}.run();
}

bool depends_on_unknown_disks(const spec::RunSpec& spec,
                              const spec::MachineSpec& machine,
                              spec::AutoDepths open) {
    const bool is_known = machine.nvme_read_rate > 0 || spec.debug.throttle.nvme_read > 0;
    const bool reads_states_ahead = spec::are_optimizer_states_on_nvme(spec) && spec.overlap.prefetch > 0;
    return !is_known && spec::is_any_state_on_nvme(spec) &&
           (open.prefetch || (open.optimizer_prefetch && reads_states_ahead));
}

spec::Depths choose_depths(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           spec::AutoDepths open,
                           const Watch& watch) {
    return choose_depths(spec, machine, open, rates_of(spec, machine), watch);
}

}  // namespace ziggurat::plan
