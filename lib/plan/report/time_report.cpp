#include "plan/report/time_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text/units.hpp"
#include "layout/counts.hpp"
#include "layout/flop_conventions.hpp"
#include "spec/depths.hpp"

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

constexpr const char* stage_waits = "waits for other stages";

std::string json_of(const std::vector<BoundPart>& parts) {
    std::vector<std::string> members;
    for (const auto& part : parts) {
        members.push_back(
            fmt::format(R"({{"work": "{}", "path_s": {:.9g}, "work_s": {:.9g}, "hidden_s": {:.9g}}})",
                        part.work, part.path_seconds, part.work_seconds, part.hidden_seconds));
    }
    return fmt::format("[{}]", fmt::join(members, ", "));
}

/// Returns the utilisation by each convention as JSON; `null` if the peak is unknown.
std::string mfu_by_convention(const spec::RunSpec& spec,
                              const spec::MachineSpec& machine,
                              double tokens_per_s) {
    const double peak = spec::peak_of(machine);
    if (peak <= 0) {
        return "null";
    }
    std::vector<std::string> members;
    for (const auto& row : layout::flop_conventions) {
        const double flops = layout::flops_per_token_by(row.convention, spec) * tokens_per_s;
        members.push_back(fmt::format("\"{}\": {:.6g}", row.name, flops / spec.parallel.ranks / peak));
    }
    return fmt::format("{{{}}}", fmt::join(members, ", "));
}

spec::RunSpec all_on_device(spec::RunSpec spec) {
    const auto move = [](auto& state) {
        for (auto* home : {&state.parameters, &state.gradients, &state.optimizer, &state.activations}) {
            *home = spec::Home{};
        }
    };
    const auto keep = [](spec::Recompute& recompute) {
        for (auto& rule : recompute.fates) {
            const bool is_redone = rule.fate == spec::ActivationFate::recompute;
            rule.fate = is_redone ? rule.fate : spec::ActivationFate::keep;
        }
    };
    move(spec.tiers);
    keep(spec.recompute);
    for (auto& stage : spec.stages) {
        move(stage);
        keep(stage.recompute);
    }
    return spec;
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
        "[{:.9g}], \"backward_weight_s\": [{:.9g}], \"lanes\": {}, \"path\": {}}}",
        stage.stage, slots.others, stage.idle_seconds, fmt::join(slots.forward, ", "),
        fmt::join(slots.backward, ", "), fmt::join(slots.backward_weight, ", "), json_of(stage.time.lanes),
        json_of(stage.time.path));
}

/// Returns the shares of the critical path, with or without the work that each part hides.
std::string path_text(const PlannedTime& time, bool names_hidden) {
    std::vector<std::string> texts;
    for (const auto& part : bound_parts(time)) {
        const double share = part.path_seconds / time.step_seconds;
        if (!texts.empty() && share < min_share) {
            continue;
        }
        auto text = fmt::format("{} {:.0f}%", part.work, 100 * share);
        if (names_hidden && part.hidden_seconds > 0 && part.hidden_seconds >= min_share * part.work_seconds) {
            text += fmt::format(" ({} of {} hidden)", format_duration(part.hidden_seconds),
                                format_duration(part.work_seconds));
        }
        texts.push_back(std::move(text));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
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

std::vector<BoundPart> bound_parts(const PlannedTime& time) {
    const auto& stage = time.bound();
    // The path of a stage that was built in part has the time of the whole stage.
    const double busy = time.step_seconds - stage.idle_seconds;
    const double of_path = sum(stage.time.path);
    std::vector<BoundPart> parts;
    for (const auto& [work, seconds] : stage.time.works) {
        const auto known = stage.time.path.find(work);
        const double on_path =
            known == stage.time.path.end() || of_path <= 0 ? 0 : known->second / of_path * busy;
        parts.push_back({work, on_path, seconds, std::max(0.0, seconds - on_path)});
    }
    if (time.pipeline.idle_seconds.size() > 1) {
        parts.push_back({stage_waits, stage.idle_seconds, stage.idle_seconds, 0});
    }
    std::ranges::stable_sort(parts, std::ranges::greater{}, &BoundPart::path_seconds);
    return parts;
}

std::string bound_text(const PlannedTime& time) {
    return path_text(time, false);
}

std::string bound_words(const PlannedTime& time) {
    return path_text(time, true);
}

std::string hidden_words(const PlannedTime& time) {
    std::vector<std::string> texts;
    for (const auto& part : bound_parts(time)) {
        const bool is_on_path = part.path_seconds >= min_share * time.step_seconds;
        if (!is_on_path && part.hidden_seconds >= min_share * time.step_seconds) {
            texts.push_back(fmt::format("{} {} of {}", part.work, format_duration(part.hidden_seconds),
                                        format_duration(part.work_seconds)));
        }
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

double step_bound(const PlannedTime& time) {
    double bound = 0;
    for (const auto& stage : time.stages) {
        for (const auto& [lane, seconds] : stage.time.lanes) {
            bound = std::max(bound, seconds);
        }
    }
    return std::min(bound, time.step_seconds);
}

double practicality(const spec::RunSpec& spec, const spec::MachineSpec& machine, double step_seconds) {
    return spec::is_any_state_away(spec)
               ? planned_time(all_on_device(spec), machine).step_seconds / step_seconds
               : 1;
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
                         const spec::MachineSpec& machine,
                         bool is_lower_bound) {
    const auto speed = speed_of(spec, machine, time.step_seconds);
    const double redone = redone_step_seconds(spec, machine);
    std::vector<std::string> stages;
    for (const auto& stage : time.stages) {
        stages.push_back(json_of(stage));
    }
    return fmt::format(
        "{{\"step_s\": {:.9g}, \"is_lower_bound\": {}, \"bound_s\": {:.9g}, \"tokens_per_s\": {:.9g}, "
        "\"tokens_per_s_per_rank\": "
        "{:.9g}, "
        "\"model_flops_per_s_per_rank\": {:.9g}, \"mfu\": {}, \"mfu_convention\": \"{}\", "
        "\"mfu_by_convention\": {}, \"practicality\": {:.6g}, \"redone_step_s\": {}, \"bubble\": {:.6g}, "
        "\"works\": {}, "
        "\"stages\": [{}]}}\n",
        time.step_seconds, is_lower_bound, step_bound(time), speed.tokens_per_s,
        speed.tokens_per_s / spec.parallel.ranks, speed.flops_per_rank,
        speed.mfu ? fmt::format("{:.6g}", *speed.mfu) : "null", layout::row_of(layout::own_convention()).name,
        mfu_by_convention(spec, machine, speed.tokens_per_s), practicality(spec, machine, time.step_seconds),
        redone > 0 ? fmt::format("{:.9g}", redone) : "null", time.bound().idle_seconds / time.step_seconds,
        json_of(bound_parts(time)), fmt::join(stages, ", "));
}

}  // namespace ziggurat::plan
