#include "plan/report/memory_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "base/text/units.hpp"
#include "plan/memory_table.hpp"
#include "plan/plan_run.hpp"
#include "plan/report/bandwidth.hpp"
#include "plan/report/verdict.hpp"
#include "plan/report/wear.hpp"
#include "plan/simulator/step_time.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "spec/home_text.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::plan {
namespace {

/// Returns the free or missing bytes of the budgets: `device 1.20 GiB per rank, host 3.00 GiB per
/// node`.
std::string left(const Footprint& footprint, bool fits) {
    constexpr std::array names{"device {} per rank", "host {} per node", "nvme {} per node"};
    std::string text;
    for (std::size_t t = 0; t < names.size(); ++t) {
        const auto limit = footprint.limit(static_cast<spec::Tier>(t));
        const auto shortfall = footprint.shortfall(static_cast<spec::Tier>(t));
        const bool is_reported = limit < spec::unlimited && (t == 0 || footprint.needed[t] > 0);
        if (fits ? is_reported : shortfall > 0) {
            const auto bytes = fits ? limit - footprint.needed[t] : shortfall;
            text += (text.empty() ? "" : ", ") + fmt::format(fmt::runtime(names[t]), format_bytes(bytes));
        }
    }
    if (!fits && footprint.memory_lack() > 0) {
        text += (text.empty() ? "" : ", ") +
                fmt::format("memory {} per node", format_bytes(footprint.memory_lack()));
    }
    return text;
}

/// Returns the shares of a kind after rounding to whole chunks; empty if they are close to the
/// requested ones.
std::string as_cut(const char* kind, const spec::Home& asked, const spec::ByTier<std::int64_t>& bytes) {
    constexpr double much_the_same = 0.05;
    const std::array wanted{asked.device, asked.host, asked.nvme};
    const auto all = static_cast<double>(bytes[0] + bytes[1] + bytes[2]);
    std::string text;
    bool is_off = false;
    for (std::size_t t = 0; all > 0 && t < spec::tier_names.size(); ++t) {
        const double got = static_cast<double>(bytes[t]) / all;
        is_off = is_off || std::abs(got - wanted[t]) > much_the_same || (wanted[t] > 0 && bytes[t] == 0);
        if (wanted[t] > 0) {
            text += fmt::format("{}{} {:.0f}%", text.empty() ? "" : ", ", spec::tier_names[t], 100 * got);
        }
    }
    return is_off ? fmt::format(
                        "  tiers.home.{} is divided between chunks, as {}. Smaller chunks are more exact.\n",
                        kind, text)
                  : "";
}

/// Returns the rounded shares of the fullest rank.
std::string shares_as_cut(const spec::RunSpec& spec, const PlannedStage& stage) {
    using schedule::PayloadKind;
    const auto tiers = spec::of_stage(spec, stage.stage).tiers;
    const auto at_home = schedule::bytes_at_home(stage.program);
    const auto of = [&](PayloadKind payload) { return at_home[payload]; };
    return as_cut("parameters", tiers.parameters, of(PayloadKind::parameters)) +
           as_cut("gradients", tiers.gradients, of(PayloadKind::gradients)) +
           as_cut("optimizer", tiers.optimizer, of(PayloadKind::optimizer));
}

/// Returns the process memory of each stage's fullest rank.
std::string process_tables(const spec::RunSpec& spec, std::span<const StageUsage> stages) {
    std::string text;
    for (const auto& stage : stages) {
        const auto title = spec.parallel.stages == 1
                               ? fmt::format("rank {}", stage.rank)
                               : fmt::format("rank {} of stage {}", stage.rank, stage.stage);
        text += process_table(title, stage.process, host_bytes_in_tiers(spec, stage.table.total));
    }
    return text;
}

/// Returns the lines about the changes that fit, or help most, and about changes that were not tried.
std::string remedies_text(const FoundRemedies& found) {
    std::string text;
    const bool is_any_fitting = std::ranges::any_of(found.remedies, &Remedy::fits);
    const auto tried = fmt::format("{} of {} changes were tried; 'ziggurat check --search' tries all",
                                   found.tried, found.all);
    if (!found.is_finished && !is_any_fitting) {
        text += fmt::format("  the search for settings that fit was not finished: {}\n", tried);
    }
    for (const auto& remedy : found.remedies) {
        text +=
            remedy.fits
                ? fmt::format("  fits with {}: leaves {}\n", remedy.overrides, left(remedy.footprint, true))
                : fmt::format("  {}: {}: short by {}\n",
                              found.is_finished ? "not sufficient, but the best change" : "the best of these",
                              remedy.overrides, left(remedy.footprint, false));
    }
    if (!found.is_finished && is_any_fitting) {
        text += fmt::format("  others may fit as well: {}\n", tried);
    }
    return text;
}

/// Returns the program of the stage with most bytes on its disks.
const schedule::Program& with_most_on_disks(const RunPlan& plan) {
    return std::ranges::max_element(
               plan.stages, {}, [](const PlannedStage& stage) { return stage.rank_bytes[spec::Tier::nvme]; })
        ->program;
}

}  // namespace

const StageUsage& MemoryReport::fullest() const {
    return *std::ranges::max_element(stages, {}, [](const StageUsage& of) { return of.table.total[0]; });
}

MemoryReport memory_report(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           const std::optional<Footprint>& known,
                           const Watch& watch,
                           const std::string& but,
                           const RemedySearch& search) {
    auto plan = plan_run(spec, machine, PlannedRanks::several, watch);
    plan.footprint = known.value_or(plan.footprint);
    MemoryReport report;
    for (const auto& stage : plan.stages) {
        report.stages.push_back({stage.stage, stage.last, stage.program.rank,
                                 memory_usage(spec::of_stage(spec, stage.stage), stage.program,
                                              {stage.rank_bytes, stage.libraries}),
                                 stage.process});
        auto communicators = communicator_blocks(spec, stage.program);
        if (blocks_of_all(communicators) > blocks_of_all(report.communicators)) {
            report.communicators = std::move(communicators);
        }
    }
    const auto& fullest = plan.fullest();
    report.footprint = plan.footprint;
    report.fits = plan.footprint.fits();
    report.accuracy_note = plan.accuracy_note;
    report.verdict = verdict(spec, plan.footprint, report.stages, but);
    report.table =
        (spec.parallel.stages == 1 ? memory_table(spec, fullest.program.rank, report.fullest().table)
                                   : stages_table(spec, report.stages)) +
        (plan.accuracy_note.empty() ? "" : fmt::format("  planned {}\n", plan.accuracy_note)) +
        shares_as_cut(spec, fullest) + report.verdict;
    report.process = process_tables(spec, report.stages);
    const auto slowed = throttled(machine, spec);
    const auto of_fullest = spec::of_stage(spec, fullest.stage);
    report.bandwidths = bandwidths(of_fullest, slowed);
    report.working_memory = working_memory(of_fullest);
    report.wear = wear(of_fullest, slowed, with_most_on_disks(plan), plan.built_layers);
    report.infinity = infinity_tables(of_fullest, slowed, report.fullest().table) +
                      wear_line(of_fullest, slowed, with_most_on_disks(plan), plan.built_layers);
    if (report.fits || plan.footprint.has_too_many_threads()) {
        return report;
    }
    if (fullest.program.variant != schedule::Variant::train) {
        report.table += "  The deck is that of the checkpoint. Use more ranks, or a node with more memory.\n";
        return report;
    }
    report.found = find_remedies(spec, machine, plan, watch, search);
    report.table += remedies_text(report.found);
    return report;
}

}  // namespace ziggurat::plan
