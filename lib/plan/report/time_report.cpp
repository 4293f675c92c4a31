#include "plan/report/time_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text/units.hpp"
#include "layout/counts.hpp"

namespace ziggurat::plan {
namespace {

/// Share of the step below which a kind of work is not named.
constexpr double min_share = 0.03;

double sum(const SecondsByWork& works) {
    double all = 0;
    for (const auto& [work, seconds] : works) {
        all += seconds;
    }
    return all;
}

/// Returns the works with their shares of the step, the largest first.
///
/// The path of a stage that was built in part has the time of the whole stage.
std::vector<std::pair<std::string, double>> shares_of(const PlannedTime& time) {
    const auto& stage = time.bound();
    const double busy = time.step_seconds - stage.idle_seconds;
    const double all = sum(stage.time.path);
    std::vector<std::pair<std::string, double>> shares;
    for (const auto& [work, seconds] : stage.time.path) {
        shares.emplace_back(work, all > 0 ? seconds / all * busy / time.step_seconds : 0);
    }
    if (time.pipeline.idle_seconds.size() > 1) {
        shares.emplace_back("waits for other stages", stage.idle_seconds / time.step_seconds);
    }
    std::ranges::stable_sort(shares, std::ranges::greater{}, &std::pair<std::string, double>::second);
    return shares;
}

std::string json_of(const SecondsByWork& works) {
    std::vector<std::string> members;
    for (const auto& [work, seconds] : works) {
        members.push_back(fmt::format("\"{}\": {:.9g}", work, seconds));
    }
    return fmt::format("{{{}}}", fmt::join(members, ", "));
}

std::string json_of(const PlannedStageTime& stage) {
    const auto& slots = stage.time.slots;
    return fmt::format(
        "{{\"stage\": {}, \"others_s\": {:.9g}, \"idle_s\": {:.9g}, \"forward_s\": [{:.9g}], \"backward_s\": "
        "[{:.9g}], \"lanes\": {}, \"path\": {}}}",
        stage.stage, slots.others, stage.idle_seconds, fmt::join(slots.forward, ", "),
        fmt::join(slots.backward, ", "), json_of(stage.time.lanes), json_of(stage.time.path));
}

}  // namespace

PlannedSpeed speed_of(const spec::RunSpec& spec, const spec::MachineSpec& machine, double step_seconds) {
    PlannedSpeed speed;
    speed.tokens_per_s = static_cast<double>(spec.train.global_batch * spec.data.seq) / step_seconds;
    speed.flops_per_rank = layout::flops_per_token(spec) * speed.tokens_per_s / spec.parallel.ranks;
    if (const double peak = spec::peak_of(machine); peak > 0) {
        speed.mfu = speed.flops_per_rank / peak;
    }
    return speed;
}

std::string bound_text(const PlannedTime& time) {
    std::vector<std::string> parts;
    for (const auto& [work, share] : shares_of(time)) {
        if (parts.empty() || share >= min_share) {
            parts.push_back(fmt::format("{} {:.0f}%", work, 100 * share));
        }
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string time_table(const PlannedTime& time) {
    std::string text;
    for (const auto& stage : time.stages) {
        std::vector<std::pair<std::string, double>> lanes{stage.time.lanes.begin(), stage.time.lanes.end()};
        std::ranges::stable_sort(lanes, std::ranges::greater{}, &std::pair<std::string, double>::second);
        std::vector<std::string> parts;
        for (const auto& [lane, seconds] : lanes) {
            if (seconds >= min_share / 10 * time.step_seconds) {
                parts.push_back(fmt::format("{} {}", lane, format_duration(seconds)));
            }
        }
        const bool is_pipeline = time.pipeline.idle_seconds.size() > 1;
        text +=
            fmt::format("{:<10}{}{}\n", is_pipeline ? fmt::format("stage {}", stage.stage) : "lanes",
                        fmt::join(parts, ", "),
                        is_pipeline ? fmt::format("; waits {}", format_duration(stage.idle_seconds)) : "");
    }
    return text;
}

std::string time_as_json(const PlannedTime& time,
                         const spec::RunSpec& spec,
                         const spec::MachineSpec& machine) {
    const auto speed = speed_of(spec, machine, time.step_seconds);
    std::vector<std::string> stages;
    for (const auto& stage : time.stages) {
        stages.push_back(json_of(stage));
    }
    return fmt::format(
        "{{\"step_s\": {:.9g}, \"tokens_per_s\": {:.9g}, \"tokens_per_s_per_rank\": {:.9g}, "
        "\"model_flops_per_s_per_rank\": {:.9g}, \"mfu\": {}, \"bubble\": {:.6g}, \"stages\": [{}]}}\n",
        time.step_seconds, speed.tokens_per_s, speed.tokens_per_s / spec.parallel.ranks, speed.flops_per_rank,
        speed.mfu ? fmt::format("{:.6g}", *speed.mfu) : "null", time.bound().idle_seconds / time.step_seconds,
        fmt::join(stages, ", "));
}

}  // namespace ziggurat::plan
