#include "plot/panels/loss_panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace ziggurat::plot {
namespace {

/// Maximum marks of non-finite values per run: more would not be distinguishable.
constexpr std::size_t max_alarms = 40;
constexpr std::size_t max_source_lines = 16;  ///< in the panel of one run
constexpr std::size_t max_source_panels = 6;  ///< of several runs
constexpr double accuracy_axis_end = 105;     ///< percent

std::string title_of_loss(LossKind kind) {
    switch (kind) {
        case LossKind::next_token:
            return "loss, nats per token";
        case LossKind::dpo:
            return "DPO loss per pair";
        case LossKind::ipo:
            return "IPO loss per pair";
        case LossKind::pairs:
            return "loss per pair of answers";
    }
    return "";
}

/// Returns the kinds of losses of the runs, each once, in the order of the runs.
std::vector<LossKind> loss_kinds_of(const std::vector<History>& histories) {
    std::vector<LossKind> kinds;
    for (const auto& history : histories) {
        if (std::ranges::find(kinds, history.loss_kind) == kinds.end()) {
            kinds.push_back(history.loss_kind);
        }
    }
    return kinds;
}

/// Makes a panel with one line per run of one kind of loss.
///
/// \param value_of  returns the value of a history's steps
template <class ValueOfHistory>
Panel panel_of_kind(
    const PanelMaker& make, std::string title, double height, LossKind kind, const ValueOfHistory& value_of) {
    Panel panel{.title = make.title(std::move(title)), .height = height, .note = "no finite value"};
    for (std::size_t run = 0; run < make.histories().size(); ++run) {
        const auto& history = make.histories()[run];
        if (history.loss_kind != kind) {
            continue;
        }
        if (auto curve = make.curve(history, value_of(history)); !curve.empty()) {
            panel.lines.push_back({run, std::move(curve)});
        }
    }
    return panel;
}

Panel loss_panel(const PanelMaker& make, LossKind kind, double height) {
    auto panel =
        panel_of_kind(make, title_of_loss(kind), height, kind, [](const History&) { return loss_value(); });
    for (std::size_t run = 0; run < make.histories().size(); ++run) {
        const auto& history = make.histories()[run];
        if (history.loss_kind != kind) {
            continue;
        }
        for (const auto& validation : history.validations) {
            panel.dots.push_back({run, make.x().at(history, validation.step), validation.loss});
        }
        std::size_t count = 0;
        for (const auto& step : history.steps) {
            if (!step.is_loss_finite && count++ < max_alarms) {
                panel.alarms.push_back({run, make.x().of(step), 0});
            }
        }
    }
    make.fit(panel);
    return panel;
}

/// Returns the names of the sources of training, then those that only validations have.
std::vector<std::string> sources_of(const History& history) {
    auto names = history.train_sources;
    for (const auto& name : history.validation_sources) {
        if (std::ranges::find(names, name) == names.end()) {
            names.push_back(name);
        }
    }
    return names;
}

/// Adds the validation losses of one source to `panel`.
void add_source_dots(const PanelMaker& make,
                     const History& history,
                     const std::string& name,
                     std::size_t colour,
                     Panel& panel) {
    const auto found = std::ranges::find(history.validation_sources, name);
    const auto source = static_cast<std::size_t>(found - history.validation_sources.begin());
    for (const auto& validation : history.validations) {
        const auto& losses = validation.loss_by_source;
        if (source < losses.size() && std::isfinite(losses[source])) {
            panel.dots.push_back({colour, make.x().at(history, validation.step), losses[source]});
        }
    }
}

/// Makes the panel of the sources of one run.
Panel panel_of_sources(const PanelMaker& make, const History& history) {
    auto names = sources_of(history);
    auto title = fmt::format("loss by source, {}", loss_unit(history.loss_kind));
    if (names.size() > max_source_lines) {
        title += fmt::format(" (the first {} of {} sources)", max_source_lines, names.size());
        names.resize(max_source_lines);
    }
    Panel panel{.title = make.title(std::move(title)), .height = 1.4, .note = "no finite value"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        panel.labels.push_back({i, names[i]});
        if (i < history.train_sources.size()) {
            if (auto curve = make.curve(history, source_loss_value(i)); !curve.empty()) {
                panel.lines.push_back({i, std::move(curve)});
            }
        }
        add_source_dots(make, history, names[i], i, panel);
    }
    make.fit(panel);
    return panel;
}

/// Appends a panel for each source of the runs of one kind of loss.
void add_source_panels(const PanelMaker& make, LossKind kind, std::vector<Panel>& panels) {
    std::vector<std::string> names;
    for (const auto& history : make.histories()) {
        for (auto& name : sources_of(history)) {
            if (history.loss_kind == kind && std::ranges::find(names, name) == names.end()) {
                names.push_back(std::move(name));
            }
        }
    }
    for (std::size_t i = 0; i < std::min(names.size(), max_source_panels); ++i) {
        auto title = fmt::format("loss of {}, {}", names[i], loss_unit(kind));
        if (i + 1 == max_source_panels && names.size() > max_source_panels) {
            title += fmt::format(" (source {} of {})", i + 1, names.size());
        }
        auto panel = panel_of_kind(make, std::move(title), 1, kind, [&](const History& history) {
            const auto found = std::ranges::find(history.train_sources, names[i]);
            return source_loss_value(static_cast<std::size_t>(found - history.train_sources.begin()));
        });
        for (std::size_t run = 0; run < make.histories().size(); ++run) {
            if (make.histories()[run].loss_kind == kind) {
                add_source_dots(make, make.histories()[run], names[i], run, panel);
            }
        }
        make.fit(panel);
        panels.push_back(std::move(panel));
    }
}

/// Adds the rewards of the validations to `panel`.
void add_reward_dots(
    const PanelMaker& make, const History& history, RewardCurve curve, std::size_t colour, Panel& panel) {
    for (const auto& validation : history.validations) {
        if (validation.rewards) {
            panel.dots.push_back(
                {colour, make.x().at(history, validation.step), value_of(*validation.rewards, curve)});
        }
    }
}

/// Makes the panel of rewards of one run: chosen answers, rejected answers, and their margin.
Panel panel_of_rewards(const PanelMaker& make, const History& history) {
    Panel panel{.title = make.title("rewards: beta x log-ratio to the reference"),
                .height = 1.4,
                .note = "no finite value"};
    for (const auto kind : {RewardCurve::chosen, RewardCurve::rejected, RewardCurve::margin}) {
        const auto colour = static_cast<std::size_t>(kind);
        panel.labels.push_back({colour, std::string{reward_names[colour]}});
        if (auto curve = make.curve(history, reward_value(kind)); !curve.empty()) {
            panel.lines.push_back({colour, std::move(curve)});
        }
        add_reward_dots(make, history, kind, colour, panel);
    }
    PanelMaker::fit_linear(panel);
    return panel;
}

/// Makes a panel of one kind of reward, with one line per run.
Panel panel_of_reward(const PanelMaker& make, std::string title, RewardCurve kind) {
    auto panel = make.of_runs(std::move(title), 0.8, reward_value(kind));
    for (std::size_t run = 0; run < make.histories().size(); ++run) {
        add_reward_dots(make, make.histories()[run], kind, run, panel);
    }
    if (kind == RewardCurve::accuracy) {
        panel.y = {.low = 0, .high = accuracy_axis_end};
    } else {
        PanelMaker::fit_linear(panel);
    }
    return panel;
}

void add_reward_panels(const PanelMaker& make, std::vector<Panel>& panels) {
    if (std::ranges::none_of(make.histories(), &History::has_rewards)) {
        return;
    }
    if (make.histories().size() == 1) {
        panels.push_back(panel_of_rewards(make, make.histories().front()));
    } else {
        panels.push_back(panel_of_reward(make, "reward margin", RewardCurve::margin));
        panels.push_back(panel_of_reward(make, "reward of chosen answers", RewardCurve::chosen));
        panels.push_back(panel_of_reward(make, "reward of rejected answers", RewardCurve::rejected));
    }
    panels.push_back(panel_of_reward(make, "reward accuracy, % of pairs", RewardCurve::accuracy));
}

}  // namespace

std::vector<Panel> loss_panels(const PanelMaker& make) {
    const auto kinds = loss_kinds_of(make.histories());
    std::vector<Panel> panels;
    for (const auto kind : kinds) {
        panels.push_back(loss_panel(make, kind, kinds.size() == 1 ? 2 : 1.4));
    }
    if (make.histories().size() == 1 && !sources_of(make.histories().front()).empty()) {
        panels.push_back(panel_of_sources(make, make.histories().front()));
    }
    for (std::size_t i = 0; make.histories().size() > 1 && i < kinds.size(); ++i) {
        add_source_panels(make, kinds[i], panels);
    }
    add_reward_panels(make, panels);
    return panels;
}

}  // namespace ziggurat::plot
