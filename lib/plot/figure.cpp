#include "plot/figure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/contract.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "plot/panels/loss_panels.hpp"
#include "plot/panels/panel_maker.hpp"
#include "plot/source_shares.hpp"
#include "plot/value_range.hpp"

namespace ziggurat::plot {
namespace {

namespace fs = std::filesystem;

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

/// Returns true if `is_such` holds for some point of the lines, each of which is a run.
template <class Is>
bool has_point(const Panel& panel, const Is& is_such) {
    return !panel.is_stacked && std::ranges::any_of(panel.lines, [&](const Line& line) {
        return std::ranges::any_of(line.curve, is_such);
    });
}

/// Appends the panels of the optimizer, of speed and stalls, and with PanelSet::all one panel per tier.
void add_other_panels(const std::vector<History>& histories,
                      const PanelMaker& make,
                      PanelSet contents,
                      std::vector<Panel>& panels) {
    const auto any = [&](const auto& has) {
        return std::ranges::any_of(
            histories, [&](const History& history) { return std::ranges::any_of(history.steps, has); });
    };
    if (any([](const Step& step) { return step.lr > 0; })) {
        panels.push_back(make.lr());
    }
    if (any([](const Step& step) { return step.grad_norm > 0; })) {
        panels.push_back(make.grad_norm());
    }
    panels.push_back(make.speed());
    if (any([](const Step& step) { return step.mfu > 0; })) {
        panels.push_back(make.mfu());
    }
    panels.push_back(make.stalls());
    for (std::size_t i = 0; i < tiers.size() && contents == PanelSet::all; ++i) {
        const auto tier = static_cast<MemoryTier>(i);
        if (std::ranges::any_of(histories, [&](const History& history) { return history.uses(tier); })) {
            panels.push_back(make.memory(tier));
        }
    }
}

void add_marks(const std::vector<History>& histories, const XScale& x, PanelSet contents, Figure& figure) {
    for (std::size_t run = 0; run < histories.size(); ++run) {
        const auto& history = histories[run];
        for (const auto& mark : history.marks) {
            figure.marks.push_back(
                {mark.kind, run, x.at(history, mark.step), mark.text,
                 mark.kind == MarkKind::weights ? share_labels(mark.shares) : std::vector<std::string>{}});
        }
        for (const auto& save : history.saves) {
            if (save.is_ok && contents == PanelSet::all) {
                figure.saves.push_back({run, x.at(history, save.step)});
            }
        }
        figure.has_validations = figure.has_validations || !history.validations.empty();
    }
}

/// Returns the axis of the requested range, or from the first to the last drawn step.
///
/// It starts at zero if the first step is near zero.
///
/// \param parts  drawn parts of `histories`
FigureAxis x_axis_of(const std::vector<History>& histories,
                     const std::vector<History>& parts,
                     const XScale& x,
                     const XRange& asked) {
    ValueRange range;
    for (const auto& part : parts) {
        if (!part.steps.empty()) {
            range.add(x.of(part.steps.front()));
            range.add(x.of(part.steps.back()));
        }
    }
    const bool running =
        asked.to && std::ranges::any_of(histories, [&](const History& history) {
            return !history.steps.empty() && x_of(history.steps.back(), asked.unit) > *asked.to;
        });
    const bool begins_early = !asked.from && range.low < 0.1 * range.high;
    const double low = asked.from ? *asked.from / x.size : begins_early ? 0 : range.low;
    const double high = running ? *asked.to / x.size : range.high;
    const bool is_whole = x.unit != XUnit::time;
    return high > low ? FigureAxis{low, high, false, is_whole}
                      : FigureAxis{low - 0.5, low + 0.5, false, is_whole};
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
    ZG_EXPECTS(!histories.empty() && style.max_points > 0);
    std::vector<History> cut;  // whole runs are not copied: they may have millions of steps
    for (std::size_t run = 0; run < histories.size() && !style.x.is_whole(); ++run) {
        cut.push_back(part_of(histories[run], style.x));
    }
    const auto& parts = style.x.is_whole() ? histories : cut;
    const auto x = make_x_scale(parts, style.x.unit);
    Figure figure{
        .title = title_of(histories), .x = x_axis_of(histories, parts, x, style.x), .x_label = x.label};
    std::ranges::transform(histories, std::back_inserter(figure.runs), label_of);
    const PanelMaker make{parts, style, x};
    figure.panels = loss_panels(make);
    if (style.contents != PanelSet::losses) {
        add_other_panels(parts, make, style.contents, figure.panels);
    }
    add_marks(parts, x, style.contents, figure);
    for (const auto& panel : figure.panels) {
        figure.has_bands = figure.has_bands || has_point(panel, has_spread);
        figure.has_raw = figure.has_raw || has_point(panel, is_smoothed_step);
    }
    return figure;
}

}  // namespace ziggurat::plot
