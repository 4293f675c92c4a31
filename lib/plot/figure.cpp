#include "plot/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/contract.hpp"
#include "base/printable.hpp"
#include "base/units.hpp"

namespace ziggurat::plot {
namespace {

namespace fs = std::filesystem;

/// Marks of what is not finite that are shown of one run: more are a smear.
constexpr std::size_t most_alarms = 40;

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

Panel loss_panel(const std::vector<History>& histories, std::int64_t most_points) {
    Panel panel{.title = "loss, nats per token", .height = 2};
    for (std::size_t run = 0; run < histories.size(); ++run) {
        panel.lines.push_back({run, loss_curve(histories[run], most_points)});
        for (const auto& validation : histories[run].validations) {
            panel.dots.push_back({run, static_cast<double>(validation.step), validation.loss});
        }
        std::size_t told = 0;
        for (const auto& step : histories[run].steps) {
            if (!step.is_loss_finite && told++ < most_alarms) {
                panel.alarms.push_back({run, static_cast<double>(step.step), 0});
            }
        }
    }
    const auto range = range_of(panel);
    panel.y = range.is_empty() ? FigureAxis{} : axis_around(range.low, range.high);
    return panel;
}

Panel speed_panel(const std::vector<History>& histories, std::int64_t most_points) {
    Panel panel{.title = "tokens per second"};
    for (std::size_t run = 0; run < histories.size(); ++run) {
        panel.lines.push_back({run, speed_curve(histories[run], most_points)});
    }
    const auto range = range_of(panel);
    panel.y = axis_from_zero(range.is_empty() ? 0 : range.high);
    return panel;
}

/// The lanes of one run on each other.
Panel stacked_stalls(const History& history, std::int64_t most_points) {
    Panel panel{.title = waiting_title, .is_stacked = true};
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        if (!history.waits_for(lane)) {
            continue;
        }
        Curve curve = stall_curve(history, most_points, lane);
        if (!panel.lines.empty()) {
            const auto& below = panel.lines.back().curve;
            for (std::size_t i = 0; i < curve.size(); ++i) {
                curve[i].mean += below[i].mean;
            }
        }
        panel.labels.emplace_back(lanes[lane]);
        panel.lines.push_back({panel.lines.size(), std::move(curve)});
    }
    return panel;
}

Panel stall_panel(const std::vector<History>& histories, std::int64_t most_points) {
    Panel panel = histories.size() == 1 ? stacked_stalls(histories.front(), most_points)
                                        : Panel{.title = waiting_title};
    for (std::size_t run = 0; run < histories.size() && !panel.is_stacked; ++run) {
        panel.lines.push_back({run, stall_curve(histories[run], most_points, lanes.size())});
    }
    const auto range = range_of(panel);
    panel.y = axis_from_zero(range.is_empty() ? 0 : range.high);
    return panel;
}

void add_saves(const std::vector<History>& histories, Figure& figure) {
    for (std::size_t run = 0; run < histories.size(); ++run) {
        for (const auto& save : histories[run].saves) {
            if (save.is_ok) {
                figure.saves.push_back({run, static_cast<double>(save.step)});
            }
        }
    }
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

/// A panel for each tier.
void add_memory_panels(const std::vector<History>& histories,
                       std::int64_t most_points,
                       std::vector<Panel>& panels) {
    for (std::size_t i = 0; i < tiers.size(); ++i) {
        const auto tier = static_cast<MemoryTier>(i);
        if (std::ranges::none_of(histories, [&](const History& history) { return history.uses(tier); })) {
            continue;
        }
        const auto unit = unit_of(histories, i);
        Panel panel{.title = fmt::format("{} memory of the fullest rank, {}", tiers[i], unit.name),
                    .height = 0.5};
        for (std::size_t run = 0; run < histories.size(); ++run) {
            panel.lines.push_back({run, memory_curve(histories[run], most_points, tier, unit.bytes)});
        }
        panel.y = axis_from_zero(range_of(panel).high);
        panels.push_back(std::move(panel));
    }
}

}  // namespace

std::string label_of(const History& history) {
    const fs::path path{history.path};
    return printable(path.filename() == "metrics.jsonl" && path.has_parent_path()
                         ? path.parent_path().string()
                         : path.string());
}

Figure make_figure(const std::vector<History>& histories, std::int64_t most_points, Contents contents) {
    ZG_EXPECTS(!histories.empty() && most_points > 0);
    Figure figure{.title = title_of(histories)};
    Range steps;
    for (std::size_t run = 0; run < histories.size(); ++run) {
        const auto& history = histories[run];
        figure.runs.push_back(label_of(history));
        steps.add(static_cast<double>(history.steps.front().step));
        steps.add(static_cast<double>(history.steps.back().step));
        for (const auto step : history.restarts) {
            figure.restarts.push_back({run, static_cast<double>(step)});
        }
        figure.has_validations = figure.has_validations || !history.validations.empty();
    }
    const bool begins_early = steps.low < 0.1 * steps.high;
    figure.x = {begins_early ? 0 : steps.low, std::max(steps.high, (begins_early ? 0 : steps.low) + 1),
                false};
    figure.panels.push_back(loss_panel(histories, most_points));
    figure.panels.push_back(speed_panel(histories, most_points));
    figure.panels.push_back(stall_panel(histories, most_points));
    if (contents == Contents::all) {
        add_memory_panels(histories, most_points, figure.panels);
        add_saves(histories, figure);
    }
    return figure;
}

}  // namespace ziggurat::plot
