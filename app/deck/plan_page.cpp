#include "app/deck/plan_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "app/deck/planned_trace.hpp"
#include "base/text/units.hpp"
#include "layout/flop_conventions.hpp"
#include "plan/report/time_report.hpp"
#include "plot/history.hpp"
#include "plot/history_reader.hpp"
#include "plot/step_page.hpp"

namespace ziggurat::app {
namespace {

/// Maximum of ranks of which lanes are drawn.
constexpr std::size_t max_ranks_drawn = 8;

using Json = nlohmann::json;

/// Returns the lanes of a process in the events of a trace, for the step of largest index.
std::map<int, plot::StepTimeline> timelines_of(const Json& events) {
    std::int64_t step = -1;
    for (const auto& event : events) {
        if (event.value("ph", "") == "X") {
            step = std::max(step, event.at("args").at("step").get<std::int64_t>());
        }
    }
    double begin_us = -1;
    for (const auto& event : events) {
        if (event.value("ph", "") == "X" && event.at("pid") == 0 && event.at("args").at("step") == step) {
            const auto at = event.at("ts").get<double>();
            begin_us = begin_us < 0 ? at : std::min(begin_us, at);
        }
    }
    begin_us = std::max(begin_us, 0.0);  // without a run, the planned step begins at 0
    std::map<int, plot::StepTimeline> made;
    std::map<std::pair<int, int>, std::size_t> lane_of;
    for (const auto& event : events) {
        const int process = event.at("pid");
        const int row = event.at("tid");
        auto& timeline = made[process];
        if (event.at("name") == "process_name") {
            timeline.title = event.at("args").at("name");
        } else if (event.at("name") == "thread_name" && event.value("ph", "") == "M") {
            lane_of[{process, row}] = timeline.lanes.size();
            timeline.lanes.push_back({event.at("args").at("name"), {}});
        }
    }
    for (const auto& event : events) {
        if (event.value("ph", "") != "X" || event.at("args").at("step") != step) {
            continue;
        }
        const int process = event.at("pid");
        const double begin = (event.at("ts").get<double>() - begin_us) * 1e-6;
        const bool is_wait = event.value("cat", "") == "wait";
        auto name = event.at("name").get<std::string>();
        name += is_wait ? " waits for " + event.at("args").value("cause", "") : "";
        made[process]
            .lanes.at(lane_of.at({process, event.at("tid").get<int>()}))
            .bars.push_back({begin, begin + event.at("dur").get<double>() * 1e-6, std::move(name), is_wait});
    }
    for (auto& [process, timeline] : made) {
        std::erase_if(timeline.lanes, [](const plot::LaneBars& lane) { return lane.bars.empty(); });
        for (auto& lane : timeline.lanes) {
            std::ranges::stable_sort(lane.bars, {}, &plot::LaneBar::begin);
        }
    }
    return made;
}

/// Measured steps of a run.
struct MeasuredRun {
    std::array<double, 3> peaks{};  ///< maximum of bytes of each tier
    double step_seconds = 0;        ///< of the last step
};

/// Returns the values of the run's metrics; zeros without metrics.
MeasuredRun measured_run(const std::string& folder) {
    MeasuredRun measured;
    auto& peaks = measured.peaks;
    std::error_code unreadable;
    if (!std::filesystem::exists(std::filesystem::path{folder} / "metrics.jsonl", unreadable)) {
        return measured;
    }
    const auto history = plot::read_history(folder);
    for (const auto& step : history.steps) {
        measured.step_seconds = step.step_s;
        for (std::size_t tier = 0; tier < peaks.size(); ++tier) {
            peaks[tier] = std::max(peaks[tier], step.tier_bytes[static_cast<plot::MemoryTier>(tier)]);
        }
    }
    return measured;
}

std::vector<std::pair<std::string, std::string>> facts_of(const plan::PlannedTime& time,
                                                          const plan::PlannedTimeline& timeline,
                                                          const spec::RunSpec& run,
                                                          const spec::MachineSpec& machine) {
    const auto speed = plan::speed_of(run, machine, time.step_seconds);
    const auto& convention = layout::row_of(layout::own_convention());
    std::vector<std::pair<std::string, std::string>> facts{
        {"machine", machine.name},
        {"ranks", format_grouped(run.parallel.ranks)},
        {"planned step", format_duration(time.step_seconds)},
        {"speed", fmt::format("{} tok/s, {} per rank", format_count(speed.tokens_per_s),
                              format_count(speed.tokens_per_s / run.parallel.ranks))},
        {"bound by", plan::bound_words(time)}};
    if (speed.mfu) {
        facts.emplace_back(
            "mfu", fmt::format("{:.1f}% ({}: {})", 100 * *speed.mfu, convention.name, convention.meaning));
    }
    if (const auto hidden = plan::hidden_words(time); !hidden.empty()) {
        facts.emplace_back("hidden", hidden);
    }
    facts.emplace_back("practicality",
                       fmt::format("{:.2f}", plan::practicality(run, machine, time.step_seconds)));
    if (!timeline.reduced.empty()) {
        facts.emplace_back("the pictures show", timeline.reduced);
    }
    return facts;
}

}  // namespace

std::string plan_page(const plan::PlannedTime& time,
                      const plan::PlannedTimeline& timeline,
                      const spec::RunSpec& run,
                      const spec::MachineSpec& machine,
                      const std::string& folder) {
    plot::StepPage page;
    page.title = run.run.name + ": a planned step";
    page.facts = facts_of(time, timeline, run, machine);
    const auto [peaks, measured_seconds] = measured_run(folder);
    if (measured_seconds > 0) {
        page.facts.emplace_back("measured step",
                                fmt::format("{}, {:.2f} times the plan", format_duration(measured_seconds),
                                            measured_seconds / time.step_seconds));
    }
    const auto trace = Json::parse(planned_trace(timeline, folder));
    const auto timelines = timelines_of(trace.at("traceEvents"));
    page.seconds = timeline.step_seconds;
    // Each planned rank is followed by the same rank of the run.
    for (const auto& rank : timeline.ranks) {
        if (page.timelines.size() >= 2 * max_ranks_drawn) {
            page.facts.emplace_back(
                "lanes", fmt::format("of the first {} of {} ranks", max_ranks_drawn, timeline.ranks.size()));
            break;
        }
        for (const int process : {planned_process + rank.rank, rank.rank}) {
            const auto found = timelines.find(process);
            if (found == timelines.end()) {
                continue;
            }
            page.timelines.push_back(found->second);
            for (const auto& lane : found->second.lanes) {
                page.seconds = lane.lane == "compute" && !lane.bars.empty()
                                   ? std::max(page.seconds, lane.bars.back().end)
                                   : page.seconds;
            }
        }
    }
    for (const auto tier : {spec::Tier::device, spec::Tier::host, spec::Tier::nvme}) {
        const auto number = static_cast<std::size_t>(tier);
        for (std::size_t i = 0; i < std::min(timeline.ranks.size(), max_ranks_drawn); ++i) {
            const auto& rank = timeline.ranks[i];
            auto curve = plan::memory_curve(rank, tier, timeline.step_seconds);
            if (curve.max() > 0) {
                page.memory.push_back({fmt::format("{}, rank {}", plot::tiers[number], rank.rank),
                                       std::move(curve.seconds), std::move(curve.bytes),
                                       timeline.step_seconds, i == 0 ? peaks[number] : 0});
            }
        }
    }
    return plot::step_page_html(page);
}

}  // namespace ziggurat::app
