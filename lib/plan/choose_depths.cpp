#include "plan/choose_depths.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "plan/ops_budget.hpp"
#include "plan/plan_run.hpp"
#include "plan/short_run.hpp"
#include "schedule/build_program.hpp"
#include "schedule/passes/homes.hpp"
#include "schedule/passes/optimizer_pass.hpp"

namespace ziggurat::plan {
namespace {

/// Below this, chunks do not become smaller for want of memory: what they take is little then.
constexpr std::int64_t smallest_chunk = std::int64_t{64} << 10;

constexpr double as_good = 1.02;

/// At 1, a unit is fetched and gathered within the computing of the one before it. The plan may find that
/// enough, but then all that comes late is waited for; so 1 is taken only where it is better.
constexpr int usual_prefetch = 2;

/// A program of so many layers has been filled long before its end.
constexpr std::int64_t layers_to_time = 12;

/// Ops of all programs that are built to see what budgets hold, and of those that are timed. Depths that are
/// not tried within them are not taken.
constexpr std::size_t most_ops = 300'000;
constexpr std::size_t most_ops_timed = 200'000;

std::int64_t updated_elements(const spec::RunSpec& whole) {
    auto spec = whole;
    spec.tiers.tiles.clear();
    const schedule::ModelLayout model{spec, 0};
    return schedule::optimizer_chunks(spec, model).elements();
}

/// What takes as long for each layer and micro-batch, with chunks as large as in a search.
spec::RunSpec short_of(const spec::RunSpec& spec) {
    auto shorter = shortened(spec, Size::of_search);
    const auto& parallel = spec.parallel;
    shorter.train.micro_batches = std::min<std::int64_t>(spec.train.micro_batches, 2 * parallel.stages);
    if (spec.train.only.empty() && parallel.stages * parallel.chunks_per_stage == 1) {
        shorter.model.layers = std::min(shorter.model.layers, layers_to_time);
    }
    return shorter;
}

class DepthChooser {
  public:
    DepthChooser(const spec::RunSpec& spec,
                 const spec::MachineSpec& machine,
                 spec::OpenDepths open,
                 const Rates& rates,
                 const Watch& watch)
        : spec_{spec},
          machine_{machine},
          open_{open},
          rates_{rates},
          budget_{most_ops, watch},
          timed_{most_ops_timed, watch} {
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
    /// Depths of both kinds, and the step that they are planned to have.
    struct Ahead {
        int prefetch = 0;
        int optimizer_prefetch = 0;
        double seconds = 0;
    };

    spec::RunSpec with(const Ahead& ahead) const {
        auto spec = spec_;
        spec.overlap.prefetch = ahead.prefetch;
        spec.overlap.optimizer_prefetch = ahead.optimizer_prefetch;
        return spec;
    }

    std::int64_t lack(const Ahead& ahead) {
        const std::array<std::int64_t, 3> key{ahead.prefetch, ahead.optimizer_prefetch,
                                              spec_.tiers.chunk_elements};
        const auto [known, is_new] = lacks_.try_emplace(key, 0);
        if (is_new) {
            known->second = plan_run(with(ahead), machine_, PlannedRanks::several, budget_.watch())
                                .footprint.total_lack();
        }
        return known->second;
    }

    void choose_chunk() {
        const auto elements = updated_elements(spec_);
        const auto usual = spec::usual_chunk(elements);
        auto& chunk = spec_.tiers.chunk_elements;
        chunk = usual;
        const bool fits =
            open_.prefetch ? halve_chunk(1) || halve_chunk(0) : halve_chunk(spec_.overlap.prefetch);
        chunk = fits ? chunk : usual;
        found_.why_chunk =
            chunk < usual ? fmt::format("the budgets hold no more of {} elements", format_grouped(elements))
                          : fmt::format("{} of a rank's {} elements", (elements + chunk - 1) / chunk,
                                        format_grouped(elements));
    }

    /// From the usual size on until the budgets hold it at that depth of prefetch; false when they never do.
    bool halve_chunk(int prefetch) {
        auto& chunk = spec_.tiers.chunk_elements;
        chunk = spec::usual_chunk(updated_elements(spec_));
        const Ahead ahead{.prefetch = prefetch, .optimizer_prefetch = spec_.overlap.optimizer_prefetch};
        auto short_of_bytes = lack(ahead);
        while (short_of_bytes > 0 && chunk > smallest_chunk && !budget_.is_spent()) {
            chunk /= 2;
            const auto before = short_of_bytes;
            short_of_bytes = lack(ahead);
            // What chunks take halves each time, so all further halvings gain less than this one did.
            if (short_of_bytes >= before - short_of_bytes && short_of_bytes > 0) {
                break;
            }
        }
        return short_of_bytes == 0;
    }

    void choose_how_far_ahead() {
        const auto tried = planned_steps();
        const auto wanted = least_of_the_best(tried);
        auto chosen = best_that_fits(tried);
        if (open_.prefetch) {
            found_.why_prefetch = why_prefetch(tried);
        }
        if (open_.optimizer_prefetch) {
            found_.why_optimizer_prefetch = why_optimizer_prefetch(tried, wanted, chosen);
        }
        const auto short_of_bytes = open_.prefetch ? lack(chosen) : 0;
        if (open_.prefetch && short_of_bytes == 0) {
            found_.why_prefetch += held(wanted.prefetch, chosen.prefetch);
        } else if (open_.prefetch) {
            const Ahead at_once{.prefetch = 0, .optimizer_prefetch = spec_.overlap.optimizer_prefetch};
            const auto still_short = lack(at_once);
            chosen = still_short < short_of_bytes ? at_once : chosen;  // slow, but it trains, or lacks least
            found_.why_prefetch += still_short > 0 ? "; the budgets hold none" : "; the budgets hold 0";
            if (open_.optimizer_prefetch && chosen.prefetch == 0) {
                found_.why_optimizer_prefetch = "nothing is fetched ahead";
            }
        }
        found_.prefetch = chosen.prefetch;
        found_.optimizer_prefetch = chosen.optimizer_prefetch;
        if (depends_on_unknown_disks(spec_, machine_, open_)) {
            found_.why_ahead(open_) +=
                fmt::format("; a node's disks are taken for {}B/s, 'ziggurat bench io' measures them",
                            format_count(rates_.nvme_read * std::max(spec_.parallel.ranks_per_node, 1)));
        }
    }

    /// Of all depths that are open, the least of prefetch first, and of these the least of
    /// optimizer_prefetch.
    std::vector<Ahead> planned_steps() {
        const int given = spec_.overlap.prefetch;
        std::vector<Ahead> tried;
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
        std::size_t timed = 0;
        while (timed < tried.size() && !timed_.is_spent()) {
            auto& ahead = tried[timed++];
            const auto program = schedule::build_program(short_of(with(ahead)), 0, schedule::Variant::train);
            ahead.seconds = step_seconds(program, rates_);
            timed_.watch()(program.ops.size());
        }
        tried.resize(timed);
        return tried;
    }

    bool reads_states() const { return spec_.tiers.optimizer.nvme > 0; }

    /// The first that no other beats, of those of the usual prefetch or more if there are any.
    static Ahead least_of_the_best(const std::vector<Ahead>& tried) {
        const double best = std::ranges::min_element(tried, {}, &Ahead::seconds)->seconds;
        const auto is_good = [&](const Ahead& ahead) { return ahead.seconds <= as_good * best; };
        const auto usual = std::ranges::find_if(
            tried, [&](const Ahead& ahead) { return is_good(ahead) && ahead.prefetch >= usual_prefetch; });
        return usual != tried.end() ? *usual : *std::ranges::find_if(tried, is_good);
    }

    /// The same of those that the budgets hold; the first of all where they hold none.
    Ahead best_that_fits(const std::vector<Ahead>& tried) {
        for (auto left = tried; !left.empty();) {
            const auto chosen = least_of_the_best(left);
            if (lack(chosen) == 0) {
                return chosen;
            }
            if (budget_.is_spent()) {
                break;
            }
            std::erase_if(left, [&](const Ahead& other) {
                return other.prefetch >= chosen.prefetch &&
                       other.optimizer_prefetch >= chosen.optimizer_prefetch;
            });
        }
        return tried.front();
    }

    static std::string describe(const std::map<int, double>& seconds_of_depth) {
        double most = 0;
        for (const auto& [depth, seconds] : seconds_of_depth) {
            most = std::max(most, seconds);
        }
        std::vector<std::string> depths, shares;
        for (const auto& [depth, seconds] : seconds_of_depth) {
            depths.push_back(fmt::format("{}", depth));
            shares.push_back(fmt::format("{:.0f}", 100 * seconds / most));
        }
        return fmt::format("planned steps at {}: {} %", fmt::join(depths, ", "), fmt::join(shares, ", "));
    }

    static std::string why_prefetch(const std::vector<Ahead>& tried) {
        std::map<int, double> least;
        for (const auto& ahead : tried) {
            const auto [known, is_new] = least.try_emplace(ahead.prefetch, ahead.seconds);
            known->second = std::min(known->second, ahead.seconds);
        }
        return describe(least);
    }

    std::string why_optimizer_prefetch(const std::vector<Ahead>& tried,
                                       const Ahead& wanted,
                                       const Ahead& chosen) const {
        if (!reads_states()) {
            return "no optimizer states on NVMe";
        }
        std::map<int, double> seconds;
        for (const auto& ahead : tried) {
            if (ahead.prefetch == chosen.prefetch) {
                seconds[ahead.optimizer_prefetch] = ahead.seconds;
            }
        }
        return describe(seconds) + held(wanted.optimizer_prefetch, chosen.optimizer_prefetch);
    }

    std::string held(int wanted, int chosen) const {
        return chosen >= wanted ? ""
               : budget_.is_spent()
                   ? fmt::format("; {} may do: a program this large is not tried with all", chosen)
                   : fmt::format("; the budgets hold {}", chosen);
    }

    spec::RunSpec spec_;
    const spec::MachineSpec& machine_;
    spec::OpenDepths open_;
    Rates rates_;
    OpsBudget budget_;  ///< of what is built for lack()
    OpsBudget timed_;   ///< of what is timed
    spec::Depths found_;
    std::map<std::array<std::int64_t, 3>, std::int64_t> lacks_;  ///< by depths and chunk
};

}  // namespace

spec::Depths choose_depths(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           spec::OpenDepths open,
                           const Rates& rates,
                           const Watch& watch) {
    if (!spec::is_any_state_away(spec.tiers)) {
        return spec::depths_at_rest(spec, open);
    }
    return DepthChooser{spec, machine, open, rates, watch}.run();
}

bool depends_on_unknown_disks(const spec::RunSpec& spec,
                              const spec::MachineSpec& machine,
                              spec::OpenDepths open) {
    const bool is_known = machine.nvme_read_rate > 0 || spec.debug.throttle.nvme_read > 0;
    const bool reads_states_ahead = spec.tiers.optimizer.nvme > 0 && spec.overlap.prefetch > 0;
    return !is_known && spec::is_any_state_on_nvme(spec.tiers) &&
           (open.prefetch || (open.optimizer_prefetch && reads_states_ahead));
}

spec::Depths choose_depths(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           spec::OpenDepths open,
                           const Watch& watch) {
    return choose_depths(spec, machine, open, rates_of(spec, machine), watch);
}

}  // namespace ziggurat::plan
