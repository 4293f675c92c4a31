#include "train/report/step_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/text/text_width.hpp"
#include "base/text/units.hpp"

namespace ziggurat::train {
namespace {

constexpr std::int64_t lines_per_heading = 50;
constexpr std::int64_t slow_first_steps = 2;

}  // namespace

StepLine::StepLine(const StepLineFacts& facts) : facts_{facts}, columns_{facts} {
    live_.reserve(256);
}

void StepLine::add(const StepReport& report) {
    last_ = report;
    ++window_steps_;
    window_loss_ += report.loss.value_or(0);
    window_losses_ += report.loss ? 1 : 0;
    window_targets_ += report.loss_tokens;
    if (report.rewards) {
        window_rewards_.chosen += report.rewards->chosen;
        window_rewards_.rejected += report.rewards->rejected;
        window_rewards_.accuracy += report.rewards->accuracy;
    }
    window_.step_s += report.step_s;
    window_tokens_ += std::llround(report.tok_s * report.step_s);
    for (std::size_t i = 0; i < num_stalls; ++i) {
        window_.stall_s[i] += report.stall_s[i];
    }
    window_.device_peak_bytes = std::max(window_.device_peak_bytes, report.device_peak_bytes);
    window_.host_peak_bytes = std::max(window_.host_peak_bytes, report.host_peak_bytes);
    window_.nvme_bytes = std::max(window_.nvme_bytes, report.nvme_bytes);

    ++steps_seen_;
    if (steps_seen_ <= slow_first_steps + 1) {
        seconds_per_step_ = report.step_s;
    } else {
        seconds_per_step_ += 0.1 * (report.step_s - seconds_per_step_);
    }
}

StepNumbers StepLine::numbers() {
    const auto steps = static_cast<double>(std::max<std::int64_t>(window_steps_, 1));
    const double seconds = window_.step_s;
    StepNumbers made{.step = last_.step,
                     .loss = {},
                     .lr = last_.lr,
                     .tok_s = seconds > 0 ? static_cast<double>(window_tokens_) / seconds : 0,
                     .left_s = seconds_left(),
                     .step_s = seconds / steps,
                     .grad_norm = last_.grad_norm};
    if (last_.mfu && last_.tok_s > 0) {
        made.mfu = made.tok_s * (*last_.mfu / last_.tok_s);  // relative to the current peak
    }
    if (window_losses_ > 0) {
        const auto losses = static_cast<double>(window_losses_);
        made.loss = window_loss_ / losses;
        made.rewards = {.chosen = window_rewards_.chosen / losses,
                        .rejected = window_rewards_.rejected / losses,
                        .accuracy = window_rewards_.accuracy / losses};
    }
    made.targets = static_cast<double>(window_targets_) / steps;
    made.is_spike = made.loss && spike_.is_spike(*made.loss);
    for (std::size_t i = 0; i < num_stalls && seconds > 0; ++i) {
        made.stall_share[i] = facts_.can_stall[i] ? window_.stall_s[i] / seconds : 0;
    }
    made.used_bytes = {window_.device_peak_bytes, facts_.reports_host ? window_.host_peak_bytes : 0,
                       window_.nvme_bytes};
    num_tiers_ = std::max(num_tiers_, made.used_bytes[2] > 0 ? 3 : made.used_bytes[1] > 0 ? 2 : 1);
    made.num_tiers = num_tiers_;
    return made;
}

Lines StepLine::fitted(int columns) {
    columns_.fit(0, logged_);
    shows_stalls_ = columns_.fit(columns, shown_);
    return {shown_, logged_.plain()};
}

Lines StepLine::line(int columns, double now_s) {
    auto made = numbers();
    made.now_s = now_s;
    columns_.fill(made);
    ++lines_;
    window_ = {};
    window_steps_ = 0;
    window_tokens_ = 0;
    window_loss_ = 0;
    window_losses_ = 0;
    window_targets_ = 0;
    window_rewards_ = {};
    return fitted(columns);
}

std::optional<Lines> StepLine::heading(int columns) {
    if (lines_ % lines_per_heading != 0) {
        return std::nullopt;
    }
    columns_.fill_heading();
    return fitted(columns);
}

std::optional<Lines> StepLine::explanation(int columns) {
    const bool is_to_show = shows_stalls_ && !is_explained_on_screen_;
    if (!is_to_show && is_explained_in_log_) {
        return std::nullopt;
    }
    std::string text = "# stall = % of step time that compute waited for:";
    for (std::size_t i = 0; i < num_stalls; ++i) {
        if (facts_.can_stall[i]) {
            const auto names = names_of(static_cast<Stall>(i));
            text += fmt::format(" {} = {},", names.column, names.meaning);
        }
    }
    text.back() = '.';
    shown_.clear();
    logged_.clear();
    if (is_to_show) {
        shown_.add(wrapped(text, columns, "#   "), Style::aside);
        is_explained_on_screen_ = true;
    }
    if (!is_explained_in_log_) {
        logged_.add(text);
        is_explained_in_log_ = true;
    }
    return Lines{shown_, logged_.plain()};
}

std::string_view StepLine::live() {
    live_.clear();
    fmt::format_to(std::back_inserter(live_), "step {}/{} ({:.0f}%) | loss {} | {} tok/s | ", last_.step,
                   facts_.total_steps,
                   100 * static_cast<double>(last_.step) /
                       static_cast<double>(std::max<std::int64_t>(facts_.total_steps, 1)),
                   last_.loss ? fmt::format("{:.4g}", *last_.loss) : "n/a", format_count(last_.tok_s));
    if (last_.step >= facts_.total_steps) {
        live_ += "done";
    } else {
        fmt::format_to(std::back_inserter(live_), "eta {}", format_duration(std::max(seconds_left(), 1e-3)));
    }
    return live_;
}

double StepLine::seconds_left() const {
    return static_cast<double>(std::max<std::int64_t>(facts_.total_steps - last_.step, 0)) *
           seconds_per_step_;
}

}  // namespace ziggurat::train
