#include "plot/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <limits>
#include <utility>

#include "base/contract.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"

namespace ziggurat::plot {
namespace {

namespace fs = std::filesystem;

/// Marks of what is not finite that are shown of one run: more are a smear.
constexpr std::size_t most_alarms = 40;

/// Of the highest point of a stack: lanes below it would be no line of a picture.
constexpr double least_share_of_stack = 0.005;

constexpr const char* waiting_title = "waiting, % of the time";

struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();

    void add(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
    bool is_empty() const { return low > high; }
};

Range range_of(const Panel& panel) {
    Range range;
    for (const auto& line : panel.lines) {
        for (const auto& point : line.curve) {
            range.add(point.mean);
        }
    }
    for (const auto& dot : panel.dots) {
        range.add(dot.value);
    }
    return range;
}

std::string title_of(const std::vector<History>& histories) {
    if (histories.size() > 1) {
        return fmt::format("{} runs", histories.size());
    }
    const auto& run = histories.front();
    auto title = run.name.empty() ? label_of(run) : run.name;
    if (run.parameters > 0) {
        title += fmt::format(", {} parameters", format_count(static_cast<double>(run.parameters)));
    }
    if (run.ranks > 0) {
        title += fmt::format(", {} rank{}", run.ranks, run.ranks == 1 ? "" : "s");
    }
    return printable(title);
}

/// Panels of one figure, made from the part of each run that is drawn.
class Panels {
  public:
    Panels(const std::vector<History>& histories, const FigureStyle& style, const XScale& x)
        : histories_{histories}, style_{style}, x_{x} {}

    Panel loss() const {
        Panel panel = of_runs("loss, nats per token", 2, loss_value(), style_.smooth);
        for (std::size_t run = 0; run < histories_.size(); ++run) {
            for (const auto& validation : histories_[run].validations) {
                panel.dots.push_back({run, x_.at(histories_[run], validation.step), validation.loss});
            }
            std::size_t count = 0;
            for (const auto& step : histories_[run].steps) {
                if (!step.is_loss_finite && count++ < most_alarms) {
                    panel.alarms.push_back({run, x_.of(step), 0});
                }
            }
        }
        fit(panel);
        return panel;
    }

    /// A schedule, whose steps are not noisy.
    Panel lr() const { return fitted(of_runs("learning rate", 0.6, lr_value(), 1), false); }
    Panel grad_norm() const {
        return fitted(of_runs("gradient norm", 0.8, grad_norm_value(), style_.smooth), true);
    }
    Panel speed() const { return from_zero(of_runs("tokens per second", 1, speed_value(), style_.smooth)); }
    Panel mfu() const {
        return from_zero(of_runs("model FLOPs utilisation, %", 0.6, mfu_value(), style_.smooth));
    }
    Panel stalls() const {
        return from_zero(histories_.size() == 1
                             ? stacked_stalls(histories_.front())
                             : of_runs(waiting_title, 1, stall_value(lanes.size()), style_.smooth));
    }
    Panel memory(std::size_t tier, const char* unit, double unit_bytes) const {
        return from_zero(of_runs(fmt::format("{} memory of the fullest rank, {}", tiers[tier], unit), 0.6,
                                 memory_value(static_cast<MemoryTier>(tier), unit_bytes), 1));
    }

  private:
    CurveStyle curve_style(std::int64_t smooth) const { return {style_.most_points, x_, smooth}; }

    /// A line for each run that has such a value.
    Panel of_runs(std::string title, double height, const ValueOf& value, std::int64_t smooth) const {
        Panel panel{.title = with_smoothing(std::move(title), smooth), .height = height};
        for (std::size_t run = 0; run < histories_.size(); ++run) {
            auto curve = make_curve(histories_[run], curve_style(smooth), value);
            if (!curve.empty()) {
                panel.lines.push_back({run, std::move(curve)});
            }
        }
        return panel;
    }

    static std::string with_smoothing(std::string title, std::int64_t smooth) {
        return smooth > 1 ? fmt::format("{}, mean of {} steps", title, smooth) : title;
    }

    /// The lanes of one run on each other, without those that are too thin to be seen.
    Panel stacked_stalls(const History& history) const {
        Panel panel{.title = with_smoothing(waiting_title, style_.smooth), .is_stacked = true};
        double highest = 0;
        for (const auto& point : make_curve(history, curve_style(style_.smooth), stall_value(lanes.size()))) {
            highest = std::max(highest, point.mean);
        }
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            Curve curve = make_curve(history, curve_style(style_.smooth), stall_value(lane));
            if (std::ranges::none_of(curve, [&](const Point& point) {
                    return point.mean > 0 && point.mean >= least_share_of_stack * highest;
                })) {
                continue;
            }
            for (std::size_t i = 0; !panel.lines.empty() && i < curve.size(); ++i) {
                curve[i].mean += panel.lines.back().curve[i].mean;
            }
            panel.labels.emplace_back(lanes[lane]);
            panel.lines.push_back({panel.lines.size(), std::move(curve)});
        }
        return panel;
    }

    /// An axis around the values; logarithmic where that is asked for and possible.
    void fit(Panel& panel) const {
        const auto range = range_of(panel);
        panel.y = range.is_empty()                 ? FigureAxis{}
                  : style_.is_log && range.low > 0 ? log_axis_around(range.low, range.high)
                                                   : axis_around(range.low, range.high);
    }
    /// \param is_around  else from zero where the axis is not logarithmic
    Panel fitted(Panel panel, bool is_around) const {
        if (is_around || style_.is_log) {
            fit(panel);
            return panel;
        }
        return from_zero(std::move(panel));
    }
    static Panel from_zero(Panel panel) {
        const auto range = range_of(panel);
        panel.y = axis_from_zero(range.is_empty() ? 0 : range.high);
        return panel;
    }

    const std::vector<History>& histories_;
    const FigureStyle& style_;
    const XScale& x_;
};

bool has_spread(const Panel& panel) {
    return !panel.is_stacked && std::ranges::any_of(panel.lines, [](const Line& line) {
        return std::ranges::any_of(line.curve, [](const Point& point) { return point.low < point.high; });
    });
}

/// The unit in which the largest of some bytes is told.
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

/// Appends a panel for each tier.
void add_memory_panels(const std::vector<History>& histories,
                       const Panels& make,
                       std::vector<Panel>& panels) {
    for (std::size_t i = 0; i < tiers.size(); ++i) {
        const auto tier = static_cast<MemoryTier>(i);
        if (std::ranges::any_of(histories, [&](const History& history) { return history.uses(tier); })) {
            const auto unit = unit_of(histories, i);
            panels.push_back(make.memory(i, unit.name, unit.bytes));
        }
    }
}

void add_marks(const std::vector<History>& histories, const XScale& x, Contents contents, Figure& figure) {
    for (std::size_t run = 0; run < histories.size(); ++run) {
        const auto& history = histories[run];
        for (const auto& mark : history.marks) {
            figure.marks.push_back({mark.kind, run, x.at(history, mark.step)});
        }
        for (const auto& save : history.saves) {
            if (save.is_ok && contents == Contents::all) {
                figure.saves.push_back({run, x.at(history, save.step)});
            }
        }
        figure.has_validations = figure.has_validations || !history.validations.empty();
    }
}

/// From the first to the last step that is drawn, or as asked; from zero where the first is near it.
FigureAxis x_axis_of(const std::vector<History>& histories, const XScale& x, const XRange& asked) {
    Range range;
    for (const auto& history : histories) {
        if (!history.steps.empty()) {
            range.add(x.of(history.steps.front()));
            range.add(x.of(history.steps.back()));
        }
    }
    const bool begins_early = !asked.from && range.low < 0.1 * range.high;
    const double low = asked.from ? *asked.from / x.size : begins_early ? 0 : range.low;
    const double high = asked.to ? std::min(*asked.to / x.size, std::max(range.high, low)) : range.high;
    return {low, high > low ? high : low + 1, false};
}

}  // namespace

std::string label_of(const History& history) {
    const fs::path path{history.path};
    return printable(path.filename() == "metrics.jsonl" && path.has_parent_path()
                         ? path.parent_path().string()
                         : path.string());
}

bool Figure::has(MarkKind kind) const {
    return std::ranges::any_of(marks, [kind](const RunMark& mark) { return mark.kind == kind; });
}

Figure make_figure(const std::vector<History>& histories, const FigureStyle& style) {
    ZG_EXPECTS(!histories.empty() && style.most_points > 0);
    std::vector<History> cut;  // a whole run is not copied: it may have millions of steps
    for (std::size_t run = 0; run < histories.size() && !style.x.is_whole(); ++run) {
        cut.push_back(part_of(histories[run], style.x));
    }
    const auto& parts = style.x.is_whole() ? histories : cut;
    const auto x = make_x_scale(parts, style.x.unit);
    Figure figure{.title = title_of(histories), .x = x_axis_of(parts, x, style.x), .x_label = x.label};
    std::ranges::transform(histories, std::back_inserter(figure.runs), label_of);
    const auto any = [&](const auto& has) {
        return std::ranges::any_of(parts,
                                   [&](const History& part) { return std::ranges::any_of(part.steps, has); });
    };
    const Panels make{parts, style, x};
    figure.panels.push_back(make.loss());
    if (any([](const Step& step) { return step.lr > 0; })) {
        figure.panels.push_back(make.lr());
    }
    if (any([](const Step& step) { return step.grad_norm > 0; })) {
        figure.panels.push_back(make.grad_norm());
    }
    figure.panels.push_back(make.speed());
    if (any([](const Step& step) { return step.mfu > 0; })) {
        figure.panels.push_back(make.mfu());
    }
    figure.panels.push_back(make.stalls());
    if (style.contents == Contents::all) {
        add_memory_panels(parts, make, figure.panels);
    }
    add_marks(parts, x, style.contents, figure);
    figure.has_bands = std::ranges::any_of(figure.panels, has_spread);
    return figure;
}

}  // namespace ziggurat::plot
