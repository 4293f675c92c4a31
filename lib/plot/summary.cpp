#include "plot/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <span>
#include <vector>

#include "base/contract.hpp"

namespace ziggurat::plot {
namespace {

constexpr int stopped_as_asked = 75;  ///< exit code

double median(std::vector<double> values) {
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

std::vector<double> values_of(std::span<const Step> steps, double Step::*field) {
    std::vector<double> values;
    values.reserve(steps.size());
    for (const auto& step : steps) {
        values.push_back(step.*field);
    }
    return values;
}

RunOutcome fate_of(const History& history) {
    if (!history.end) {
        return RunOutcome::running;
    }
    return history.end->exit_code == 0                  ? RunOutcome::finished
           : history.end->exit_code == stopped_as_asked ? RunOutcome::stopped
                                                        : RunOutcome::failed;
}

void add_shares(Summary& summary, std::span<const Step> steps) {
    double seconds = 0;
    for (const auto& step : steps) {
        seconds += step.step_s;
        summary.mfu += step.step_s * step.mfu;
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            summary.waited[lane] += static_cast<double>(step.stall_s[lane]);
        }
        for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
            summary.peak_bytes[tier] = std::max(summary.peak_bytes[tier], step.tier_bytes[tier]);
        }
    }
    if (seconds > 0) {
        summary.mfu /= seconds;
        for (auto& waited : summary.waited) {
            waited /= seconds;
        }
    }
}

}  // namespace

double Summary::waited_in_all() const {
    return std::accumulate(waited.begin(), waited.end(), 0.0);
}

Summary summarise(const History& history, std::int64_t max_steps) {
    ZG_EXPECTS(!history.steps.empty() && max_steps > 0);
    const auto& all = history.steps;
    const std::span latest{all.end() - std::min(max_steps, std::ssize(all)), all.end()};
    Summary summary{.last_step = all.back().step, .tokens = all.back().tokens};
    for (const auto& step : all) {
        summary.trained_s += step.step_s;
        summary.last_loss = step.loss ? step.loss : summary.last_loss;
        summary.last_rewards = step.rewards ? step.rewards : summary.last_rewards;
    }
    for (const auto& validation : history.validations) {
        if (!summary.best_validation || validation.loss < summary.best_validation->loss) {
            summary.best_validation = validation;
        }
    }
    summary.tok_s = median(values_of(latest, &Step::tok_s));
    summary.step_s = median(values_of(latest, &Step::step_s));
    add_shares(summary, latest);
    summary.complete_saves = std::ranges::count_if(history.saves, &Save::is_ok);
    summary.fate = fate_of(history);
    return summary;
}

std::string loss_text(double loss, LossKind kind) {
    return kind == LossKind::next_token ? fmt::format("{:.4f}", loss)
                                        : fmt::format("{:.4f} {}", loss, loss_unit(kind));
}

std::string marks_text(const History& history) {
    std::string text;
    for (std::size_t i = 0; i < mark_names.size(); ++i) {
        const auto count = std::ranges::count(history.marks, static_cast<MarkKind>(i), &EventMark::kind);
        if (count > 0) {
            const char* plural = count == 1 ? "" : mark_names[i].ends_with('h') ? "es" : "s";
            text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, mark_names[i], plural);
        }
    }
    return text;
}

std::string fate_text(const History& history) {
    switch (fate_of(history)) {
        case RunOutcome::running:
            return "running, or was killed";
        case RunOutcome::finished:
            return "finished";
        case RunOutcome::stopped:
            return "stopped: " + history.end->reason;
        case RunOutcome::failed:
            return history.end->exit_code
                       ? fmt::format("failed with {}: {}", *history.end->exit_code, history.end->reason)
                       : "died: " + history.end->reason;
    }
    return "";
}

}  // namespace ziggurat::plot
