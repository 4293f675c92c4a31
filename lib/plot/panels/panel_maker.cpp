#include "plot/panels/panel_maker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/units.hpp"
#include "plot/value_range.hpp"

namespace ziggurat::plot {
namespace {

/// Minimum share of the highest point of a stack: lanes below it would not be visible.
constexpr double min_share_of_stack = 0.005;

constexpr const char* waiting_title = "waiting, % of the time";

std::string with_smoothing(std::string title, std::int64_t smooth) {
    return smooth > 1 ? fmt::format("{}, mean of {} steps", title, smooth) : title;
}

/// Adds the points above the axis to `panel.peaks`, and their height to the title.
///
/// Only the first of adjacent points counts. A spread counts if it ends far above the axis.
void add_peaks(Panel& panel) {
    const double far_above = panel.y.is_log ? 1.05 : 1.5;  // as a position on the axis
    double highest = 0;
    for (const auto& line : panel.lines) {
        bool was_above = false;
        for (const auto& point : line.curve) {
            const bool is_above =
                panel.y.position_of(point.mean) > 1 || panel.y.position_of(point.high) > far_above;
            if (is_above) {
                highest = panel.peaks.empty() ? point.high : std::max(highest, point.high);
            }
            if (is_above && !was_above) {
                panel.peaks.push_back({line.colour, point.x, point.high});
            }
            was_above = is_above;
        }
    }
    if (!panel.peaks.empty()) {
        panel.title += fmt::format(", peaks up to {} cut off", format_count(highest));
    }
}

Panel from_zero(Panel panel) {
    const auto range = range_of(panel);
    panel.y = axis_from_zero(range.is_empty() ? 0 : range.high);
    if (!panel.is_stacked) {
        add_peaks(panel);
    }
    return panel;
}

/// Unit that suits the largest of several numbers of bytes.
struct ByteUnit {
    const char* name;
    double bytes;
};

ByteUnit unit_of(const std::vector<History>& histories, std::size_t tier) {
    constexpr ByteUnit gib{"GiB", 1LL << 30}, mib{"MiB", 1LL << 20};
    const auto reaches_gib = [tier](const Step& step) { return step.tier_bytes[tier] >= gib.bytes; };
    return std::ranges::any_of(
               histories,
               [&](const History& history) { return std::ranges::any_of(history.steps, reaches_gib); })
               ? gib
               : mib;
}

}  // namespace

std::string PanelMaker::title(std::string text) const {
    return with_smoothing(std::move(text), style_.smooth);
}

Panel PanelMaker::lr() const {
    Panel panel = of_runs("learning rate", 0.6, lr_value(), 1);
    const auto range = range_of(panel);
    if (!style_.is_log || range.is_empty() || range.low <= 0) {
        return from_zero(std::move(panel));
    }
    panel.y = log_axis_around(range.low, range.high);
    return panel;
}

Panel PanelMaker::grad_norm() const {
    Panel panel = of_runs("gradient norm", 0.8, grad_norm_value(), style_.smooth);
    fit(panel);
    return panel;
}

Panel PanelMaker::speed() const {
    return from_zero(of_runs("tokens per second", 1, speed_value(), style_.smooth));
}

Panel PanelMaker::mfu() const {
    return from_zero(of_runs("model FLOPs utilisation, %", 0.6, mfu_value(), style_.smooth));
}

Panel PanelMaker::stalls() const {
    Panel panel = histories_.size() == 1
                      ? stacked_stalls(histories_.front())
                      : of_runs(waiting_title, 1, stall_value(lanes.size()), style_.smooth);
    panel.note = "no waits";
    return from_zero(std::move(panel));
}

Panel PanelMaker::memory(MemoryTier tier) const {
    const auto number = static_cast<std::size_t>(tier);
    const auto unit = unit_of(histories_, number);
    return from_zero(of_runs(fmt::format("{} memory of the fullest rank, {}", tiers[number], unit.name), 0.6,
                             memory_value(tier, unit.bytes), 1));
}

Panel PanelMaker::of_runs(std::string title, double height, const ValueOf& value, std::int64_t smooth) const {
    Panel panel{
        .title = with_smoothing(std::move(title), smooth), .height = height, .note = "no finite value"};
    for (std::size_t run = 0; run < histories_.size(); ++run) {
        auto curve = make_curve(histories_[run], curve_style(smooth), value);
        if (!curve.empty()) {
            panel.lines.push_back({run, std::move(curve)});
        }
    }
    return panel;
}

/// Stacks the lanes of one run, without those that are too thin to be visible.
///
/// A lane has the same colour in each picture.
Panel PanelMaker::stacked_stalls(const History& history) const {
    Panel panel{.title = with_smoothing(waiting_title, style_.smooth), .is_stacked = true};
    double highest = 0;
    for (const auto& point : make_curve(history, curve_style(style_.smooth), stall_value(lanes.size()))) {
        highest = std::max(highest, point.mean);
    }
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        Curve curve = make_curve(history, curve_style(style_.smooth), stall_value(lane));
        if (std::ranges::none_of(curve, [&](const Point& point) {
                return point.mean > 0 && point.mean >= min_share_of_stack * highest;
            })) {
            continue;
        }
        for (std::size_t i = 0; !panel.lines.empty() && i < curve.size(); ++i) {
            curve[i].mean += panel.lines.back().curve[i].mean;
        }
        panel.labels.push_back({lane, std::string{lanes[lane]}});
        panel.lines.push_back({lane, std::move(curve)});
    }
    return panel;
}

void PanelMaker::fit_linear(Panel& panel) {
    const auto range = range_without_peaks(panel);
    panel.y = range.is_empty() ? FigureAxis{} : linear_axis_around(range.low, range.high);
    add_peaks(panel);
}

void PanelMaker::fit(Panel& panel) const {
    const auto whole = range_of(panel);
    if (whole.is_empty()) {
        panel.y = FigureAxis{};
    } else if (style_.is_log && whole.low > 0) {
        panel.y = log_axis_around(whole.low, whole.high);
    } else {
        const auto range = range_without_peaks(panel);
        panel.y = axis_around(range.low, range.high);
    }
    add_peaks(panel);
}

}  // namespace ziggurat::plot
