#include "app/deck/remedy_search.hpp"

#include <optional>
#include <utility>

#include "app/bench/kept_peak.hpp"
#include "app/deck/job_size.hpp"
#include "base/processor_time.hpp"
#include "plan/layouts/choose_layout.hpp"
#include "plan/search/choose_accumulation.hpp"
#include "plan/search/choose_depths.hpp"
#include "plan/search/choose_leases.hpp"
#include "plan/search/fastest_homes.hpp"

namespace ziggurat::app {
namespace {

/// Returns options that read no data: remedies do not change it.
///
/// Choices count their ops through `watch`, and have no progress lines of their own.
deck::LoadOptions for_change(deck::LoadOptions options, const plan::Watch& watch) {
    options.needs_data = false;
    options.job_end = {};
    options.read_source = {};
    options.has_token = {};
    options.find_train_validation_overlap = {};
    options.keeps_layout_rules = false;
    const auto kept_peak = options.machine ? KeptPeakOf{} : kept_peaks_here();
    options.choose_layout = [watch, kept_peak](const auto& run, const auto& machine, const auto& space,
                                               const auto& rules) {
        return plan::choose_layout(run, with_kept_peak(machine, run, kept_peak), space, rules, {}, watch);
    };
    options.choose_homes = [watch](const auto& run, const auto& machine) {
        return plan::choose_fastest_homes(run, machine, watch);
    };
    options.choose_depths = [watch](const auto& run, const auto& machine, spec::AutoDepths open) {
        return plan::choose_depths(run, machine, open, watch);
    };
    options.choose_leases = [watch](const auto& run, const auto& machine) {
        return plan::holds_leases_of_a_step(run, machine, watch);
    };
    options.choose_accumulation = [watch](const auto& run, const auto& machine) {
        return plan::choose_accumulation(run, machine, watch);
    };
    return options;
}

/// Returns options for another number of ranks, as `--ranks` gives them.
deck::LoadOptions with_ranks(const PlannedJob& job, deck::LoadOptions options, int ranks) {
    auto larger = job;
    larger.ranks = ranks;
    larger.nodes = {};
    options.ranks_per_node = 0;
    options.node_of_rank.clear();
    return sized(larger, std::move(options));
}

/// True if the change names a folder that the user must replace.
bool has_placeholder(const plan::DeckEdit& change) {
    return change.overrides.find("tiers.nvme.paths=") != std::string::npos;
}

}  // namespace

plan::RemedySearch remedy_search(const PlannedJob& job,
                                 const deck::LoadOptions& load,
                                 const deck::LoadedDeck& loaded,
                                 RemedyTime time) {
    const int ranks = loaded.run.parallel.ranks;
    return {
        .load = [job, load, ranks, machine = loaded.machine](
                    const plan::DeckEdit& change,
                    const plan::Watch& watch) -> std::optional<plan::ChangedRun> {
            if (has_placeholder(change)) {
                return plan::ChangedRun{change.spec, machine};
            }
            auto overrides = job.overrides;
            for (auto& argument : plan::arguments_of(change.overrides)) {
                overrides.push_back(std::move(argument));
            }
            auto options = for_change(load, watch);
            if (const int wanted = change.spec.parallel.ranks; wanted != ranks) {
                options = with_ranks(job, std::move(options), wanted);
            }
            auto changed = deck::load(job.deck, overrides, options);
            return changed.ok() ? std::optional{plan::ChangedRun{std::move(changed.run), changed.machine}}
                                : std::nullopt;
        },
        .is_over =
            [time] { return time == RemedyTime::limited && processor_seconds() > max_seconds_of_remedies; }};
}

}  // namespace ziggurat::app
