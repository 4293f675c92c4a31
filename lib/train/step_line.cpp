#include "train/step_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/printable.hpp"
#include "base/units.hpp"

namespace ziggurat::train {
namespace {

constexpr std::int64_t lines_per_heading = 50;
constexpr std::int64_t slow_first_steps = 2;
constexpr std::size_t most_stalls_shown = 2;
constexpr std::size_t most_columns = 160;

int digits(std::int64_t number) {
    return static_cast<int>(fmt::formatted_size("{}", number));
}

template <class... Arguments>
void append(std::string& text, fmt::format_string<Arguments...> form, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text), form, std::forward<Arguments>(arguments)...);
}

/// Names short enough for a column.
std::string_view short_name(Stall stall) {
    constexpr std::array<std::string_view, num_stalls> names{"data", "coll", "chan",  "h2d",
                                                             "d2h",  "read", "write", "opt"};
    return names[static_cast<std::size_t>(stall)];
}

void append_loss(std::string& text, double loss) {
    if (std::fabs(loss) < 999) {
        append(text, " | loss {:>8.4f}", loss);
    } else {
        append(text, " | loss {:>8.3g}", loss);
    }
}

/// `1.2/2.0G`, `12M/60G`, `61G`.
void append_use(std::string& text, std::int64_t bytes, std::int64_t budget_bytes) {
    const auto used = format_bytes_short(bytes);
    if (budget_bytes <= 0) {
        append(text, "{}", used);
        return;
    }
    const auto budget = format_bytes_short(budget_bytes);
    const bool is_same_unit = used.back() == budget.back() && used.back() > '9';
    append(text, "{}/{}", std::string_view{used}.substr(0, used.size() - (is_same_unit ? 1 : 0)), budget);
}

}  // namespace

StepLine::StepLine(std::int64_t total_steps, const std::array<std::int64_t, 3>& budget_bytes)
    : total_steps_{total_steps}, step_width_{digits(total_steps)}, budget_bytes_{budget_bytes} {
    text_.reserve(512);
}

void StepLine::add(const StepReport& report) {
    last_ = report;
    ++window_steps_;
    window_loss_ += report.loss;
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

std::string_view StepLine::line() {
    const auto steps = static_cast<double>(std::max<std::int64_t>(window_steps_, 1));
    const double seconds = window_.step_s;
    text_.clear();
    append(text_, "step {:>{}}/{}", last_.step, step_width_, total_steps_);
    append_loss(text_, window_loss_ / steps);
    append(text_, " | lr {:>8.2e} | norm {:>8.3g}", last_.lr, last_.grad_norm);
    append(text_, " | {:>8}", format_duration(seconds / steps));
    append(text_, " | {:>7} tok/s",
           format_count(seconds > 0 ? static_cast<double>(window_tokens_) / seconds : 0));
    append_stalls();
    const auto eta = " | eta " + format_duration(eta_seconds());
    append_memory(eta);
    text_ += eta;
    ++lines_;
    window_ = {};
    window_steps_ = 0;
    window_tokens_ = 0;
    window_loss_ = 0;
    return text_;
}

/// The largest shares first, those that round to 0.1 % or more.
void StepLine::append_stalls() {
    append(text_, " | stall");
    const double seconds = window_.step_s;
    std::size_t shown = 0;
    std::array<double, num_stalls> left = window_.stall_s;
    while (shown < most_stalls_shown && seconds > 0) {
        const auto largest = std::max_element(left.begin(), left.end());
        const double percent = 100 * *largest / seconds;
        if (percent < 0.05) {
            break;
        }
        append(text_, " {} {:.1f}", short_name(static_cast<Stall>(largest - left.begin())), percent);
        *largest = 0;
        ++shown;
    }
    append(text_, "{}", shown == 0 ? " 0%" : "%");
}

/// Peaks since the last line, beside the budgets; the device's alone where nothing lies elsewhere. Names of
/// tiers, then budgets, are left out where the line would become too long with `eta` behind it.
void StepLine::append_memory(std::string_view eta) {
    const std::array<std::int64_t, 3> used{window_.device_peak_bytes, window_.host_peak_bytes,
                                           window_.nvme_bytes};
    const std::size_t num_tiers = used[2] > 0 ? 3 : used[1] > 0 ? 2 : 1;
    constexpr std::array<std::string_view, 3> names{"dev ", " host ", " nvme "};
    const auto before = text_.size();
    for (const bool with_names : {true, false}) {
        append(text_, " | {}", with_names && num_tiers > 1 ? "" : "mem ");
        for (std::size_t tier = 0; tier < num_tiers; ++tier) {
            const bool is_named = with_names && num_tiers > 1;
            append(text_, "{}", is_named ? names[tier] : tier > 0 ? " " : "");
            append_use(text_, used[tier], budget_bytes_[tier]);
        }
        if (text_.size() + eta.size() <= most_columns) {
            return;
        }
        text_.resize(before);
    }
    append(text_, " | mem ");
    for (std::size_t tier = 0; tier < num_tiers; ++tier) {
        append(text_, "{}{}", tier > 0 ? " " : "", format_bytes_short(used[tier]));
    }
}

std::optional<std::string_view> StepLine::heading() {
    if (lines_ % lines_per_heading != 0) {
        return std::nullopt;
    }
    text_.clear();
    append(text_,
           "{:<{}} | {:>13} | {:>11} | {:>13} | {:>8} | {:>13} | waiting, % of time | memory of budget | "
           "time left",
           "# step", 2 * step_width_ + 6, "loss, nats", "rate", "gradient norm", "per step", "speed");
    return text_;
}

std::string_view StepLine::live() {
    text_.clear();
    append(
        text_, "step {}/{} ({:.0f}%)", last_.step, total_steps_,
        100 * static_cast<double>(last_.step) / static_cast<double>(std::max<std::int64_t>(total_steps_, 1)));
    append_loss(text_, last_.loss);
    append(text_, " | {} tok/s | eta {}", format_count(last_.tok_s), format_duration(eta_seconds()));
    return text_;
}

double StepLine::eta_seconds() const {
    return static_cast<double>(std::max<std::int64_t>(total_steps_ - last_.step, 0)) * seconds_per_step_;
}

std::string skipped_line(const StepReport& report) {
    const char* what = std::isfinite(report.loss) ? "the gradient is not finite" : "the loss is not finite";
    return fmt::format(
        "step {} SKIPPED: {}, so the weights stay as they are (loss {:.4g}, norm {:.3g}; {} skipped so far)",
        report.step, what, report.loss, report.grad_norm, report.skipped);
}

std::string validation_line(const ValidationReport& report, std::int64_t total_steps) {
    return fmt::format("validate {}/{} | loss {:.4f} nats/token ({:.4f} bits) | {} tokens | {}", report.step,
                       total_steps, report.loss, report.loss / std::log(2.0),
                       format_grouped(report.loss_tokens), format_duration(report.seconds));
}

std::string sample_block(std::int64_t step,
                         std::string_view prompt,
                         std::string_view continuation,
                         double temperature) {
    const std::string text = printable(std::string{prompt} + std::string{continuation}, Newlines::kept);
    std::string block = fmt::format("sample after step {}, prompt \"{}\", temperature {:g}:\n", step,
                                    printable(prompt), temperature);
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        block += "  | " + text.substr(begin, end - begin) + "\n";
        begin = end + 1;
    }
    return block;
}

}  // namespace ziggurat::train
