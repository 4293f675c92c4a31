#include "plot/dashboard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "base/clock.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "base/text/units.hpp"
#include "plot/figure.hpp"
#include "plot/summary.hpp"

namespace ziggurat::plot {
namespace {

constexpr std::int64_t latest_steps = 50;  ///< steps over which speed and waits are averaged
constexpr int min_rows = 12;
constexpr int min_columns = 40;
constexpr int bar_columns = 20;

class Screen {
  public:
    explicit Screen(const DashboardStyle& style)
        : style_{style},
          columns_{std::max(style.terminal.columns, min_columns)},
          rows_{std::max(style.rows, min_rows)} {}

    int columns() const { return columns_; }
    int rows_left() const { return rows_ - static_cast<int>(std::ssize(lines_)); }

    /// Adds a line without escape sequences, clipped to the width.
    void add(const std::string& line) { add_ready(std::string{clipped(line, columns_)}); }
    /// Adds a line that fits into the width.
    void add_ready(std::string line) {
        if (rows_left() > 0) {
            lines_.push_back(std::move(line));
        }
    }

    /// Returns `[####    ]` with `share` of its characters filled.
    std::string bar(double share) const {
        const auto filled = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * bar_columns));
        std::string text;
        for (int i = 0; i < bar_columns; ++i) {
            text += i >= filled ? (style_.terminal.has_unicode ? "░" : ".")
                                : (style_.terminal.has_unicode ? "█" : "#");
        }
        return text;
    }

    std::string text() const {
        std::string text;
        for (const auto& line : lines_) {
            text += line + "\n";
        }
        return text;
    }

  private:
    const DashboardStyle& style_;
    int columns_, rows_;
    std::vector<std::string> lines_;
};

std::string state_text(const History& history, double now_s) {
    if (history.end) {
        return fate_text(history);
    }
    if (now_s <= 0 || history.last_time <= 0) {
        return "";
    }
    return fmt::format("{} since its last event", format_duration(std::max(0.0, now_s - history.last_time)));
}

void add_head(Screen& screen, const History& history, double now_s) {
    auto line = history.name.empty() ? history.path : history.name;
    if (history.parameters > 0) {
        line += fmt::format("  {} parameters", format_count(static_cast<double>(history.parameters)));
    }
    if (history.ranks > 0) {
        line += fmt::format("  {} rank{}", history.ranks, history.ranks == 1 ? "" : "s");
    }
    const auto state = state_text(history, now_s);
    screen.add(printable(line) + (state.empty() ? "" : "  " + state));
}

std::string validation_text(const Validation& validation) {
    return fmt::format("validation {:.4f} at step {}", validation.loss, format_grouped(validation.step));
}

void add_progress(Screen& screen, const History& history, const Summary& latest) {
    const auto last = latest.last_step;
    std::string line = "steps   ";
    if (history.planned_steps > 0) {
        const double share = static_cast<double>(last) / static_cast<double>(history.planned_steps);
        line += screen.bar(share) +
                fmt::format(" {} of {}", format_grouped(last), format_grouped(history.planned_steps));
        if (!history.end && last < history.planned_steps) {
            line += ", " +
                    format_duration(static_cast<double>(history.planned_steps - last) * latest.step_s) +
                    " left";
        }
    } else {
        line += format_grouped(last);
    }
    screen.add(line + fmt::format(", {} tokens", format_count(static_cast<double>(latest.tokens))));
    line = fmt::format("speed   {} tok/s, {} a step", format_count(latest.tok_s),
                       format_duration(latest.step_s));
    if (latest.mfu > 0) {
        line += fmt::format(", MFU {:.1f} %", 100 * latest.mfu);
    }
    screen.add(line);
    const auto& step = history.steps.back();
    line = "loss    " + (latest.last_loss ? loss_text(*latest.last_loss, history.loss_kind) : "none");
    if (!history.validations.empty() && !latest.last_rewards) {
        line += ", " + validation_text(history.validations.back());
    }
    screen.add(line + fmt::format(", lr {:.2e}, gradient norm {:.3g}", step.lr, step.grad_norm));
}

/// Adds the latest rewards and losses by source.
void add_parts_of_loss(Screen& screen, const History& history, const Summary& latest) {
    const auto text_of = [](const Rewards& rewards) {
        return fmt::format("margin {:.4g}, accuracy {:.1f} %", rewards.margin(), 100 * rewards.accuracy);
    };
    if (latest.last_rewards) {
        screen.add(fmt::format("rewards {}, chosen {:.4g}, rejected {:.4g}", text_of(*latest.last_rewards),
                               latest.last_rewards->chosen, latest.last_rewards->rejected));
        if (!history.validations.empty()) {
            const auto& validation = history.validations.back();
            screen.add("        " + validation_text(validation) +
                       (validation.rewards ? ", " + text_of(*validation.rewards) : ""));
        }
    }
    std::string line;
    for (std::size_t i = 0; i < history.train_sources.size(); ++i) {
        const auto loss = latest_loss(history.steps, i);
        line += fmt::format("{}{} {}", line.empty() ? "sources " : ", ", history.train_sources[i],
                            loss ? fmt::format("{:.4f}", loss->first) : "-");
    }
    if (!line.empty()) {
        screen.add(line);
    }
}

/// Adds `2 resumes, 1 spike, 1 crash` if there are marks.
void add_marks(Screen& screen, const History& history) {
    if (const auto marks = marks_text(history); !marks.empty()) {
        screen.add("marks   " + marks);
    }
}

void add_waits(Screen& screen, const Summary& latest) {
    screen.add(fmt::format("waits   {} {:.0f} % of the time", screen.bar(latest.waited_in_all()),
                           100 * latest.waited_in_all()));
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        if (latest.waited[lane] >= 0.005) {
            std::string name{lanes[lane]};
            std::ranges::replace(name, '_', ' ');
            screen.add(fmt::format("        {} {:.1f} % {}", screen.bar(latest.waited[lane]),
                                   100 * latest.waited[lane], name));
        }
    }
}

void add_tiers(Screen& screen, const History& history, const Summary& latest) {
    for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
        const double used = latest.peak_bytes[tier];
        const double budget = history.budget_bytes[tier];
        if (used <= 0) {
            continue;
        }
        const auto bytes = [](double value) {
            return format_bytes(static_cast<std::int64_t>(std::min(value, 9e18)));
        };
        screen.add(budget > 0 ? fmt::format("{:<7} {} {} of {}", tiers[tier], screen.bar(used / budget),
                                            bytes(used), bytes(budget))
                              : fmt::format("{:<7} {}", tiers[tier], bytes(used)));
    }
}

/// Adds the curves of losses and rewards for which there is room: the first ones.
void add_curves(Screen& screen, const History& history, const TerminalStyle& style, int rows_below) {
    constexpr std::ptrdiff_t rows_of_head = 2;  // the screen already has the title and the name of the run
    auto figure = make_figure({history}, {.max_points = points_across(style), .contents = PanelSet::losses});
    for (; !figure.panels.empty(); figure.panels.pop_back()) {
        const auto text = terminal_text(figure, style);
        if (std::ranges::count(text, '\n') - rows_of_head > screen.rows_left() - rows_below) {
            continue;
        }
        std::istringstream lines{text};
        std::string line;
        for (int number = 0; std::getline(lines, line); ++number) {
            if (number >= rows_of_head) {
                screen.add_ready(line);
            }
        }
        return;
    }
}

void add_events(Screen& screen, const History& history, std::ptrdiff_t max) {
    const auto shown = std::min(max, std::ssize(history.events));
    for (auto event = history.events.end() - shown; event != history.events.end(); ++event) {
        screen.add(fmt::format("{}{}{}", event->time > 0 ? format_calendar(event->time) + "  " : "",
                               event->step ? fmt::format("step {}  ", *event->step) : "", event->text));
    }
}

}  // namespace

std::string dashboard(const History& history, const DashboardStyle& style) {
    constexpr int rows_of_events = 3;
    Screen screen{style};
    add_head(screen, history, style.now_s);
    if (history.steps.empty()) {
        screen.add("no step is done yet");
        add_events(screen, history, screen.rows_left());
        return screen.text();
    }
    const auto latest = summarise(history, latest_steps);
    add_progress(screen, history, latest);
    add_parts_of_loss(screen, history, latest);
    add_waits(screen, latest);
    add_tiers(screen, history, latest);
    add_marks(screen, history);
    add_curves(screen, history, style.terminal, rows_of_events);
    add_events(screen, history, std::min(screen.rows_left(), rows_of_events));
    return screen.text();
}

}  // namespace ziggurat::plot
