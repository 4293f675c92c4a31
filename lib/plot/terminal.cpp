#include "plot/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/text/text_width.hpp"
#include "plot/canvas.hpp"

namespace ziggurat::plot {
namespace {

constexpr int label_columns = 9;  ///< including the bar after them
constexpr int min_columns = 40;
constexpr int rows_of_unit = 6;

int plot_columns(const TerminalStyle& style) {
    return std::max(style.columns, min_columns) - label_columns - 1;
}

class Drawing {
  public:
    explicit Drawing(const TerminalStyle& style) : style_{style} {}

    std::string draw(const Figure& figure) {
        line(figure.title);
        draw_legend(figure);
        for (const auto& panel : figure.panels) {
            draw_panel(figure, panel);
        }
        draw_x_axis(figure);
        return std::move(text_);
    }

  private:
    void line(const std::string& text) {
        text_ += clipped(text, std::max(style_.columns, min_columns));
        text_ += '\n';
    }

    /// Returns true if marks distinguish the lines of a panel.
    bool has_marks(const Panel& panel) const { return !style_.has_colours && panel.lines.size() > 1; }

    /// Draws names with their colours or marks. Starts a new row if a name does not fit.
    void draw_names(const std::string& indent, const std::vector<std::string>& names, bool with_marks) {
        std::string row = indent;
        int taken = text_width(indent);
        for (std::size_t i = 0; i < names.size(); ++i) {
            const auto name =
                shortened_from_left(names[i], std::max(style_.columns, min_columns) - text_width(indent) - 3);
            const int needed = text_width(name) + 4;
            if (taken > text_width(indent) && taken + needed > std::max(style_.columns, min_columns)) {
                end_row(row);
                row = indent;
                taken = text_width(indent);
            }
            const std::string sign = with_marks           ? std::string(1, Canvas::mark_of(i))
                                     : style_.has_unicode ? "■"
                                                          : "#";
            row += (style_.has_colours ? Canvas::colour_of(i) + sign + "\x1b[0m" : sign) + " " + name + "  ";
            taken += needed;
        }
        end_row(row);
    }

    void end_row(const std::string& row) { text_ += row.substr(0, row.find_last_not_of(' ') + 1) + "\n"; }

    void draw_legend(const Figure& figure) {
        if (figure.runs.size() > 1) {
            draw_names("", figure.runs, !style_.has_colours);
        } else {
            line(figure.runs.front());
        }
    }

    void draw_panel(const Figure& figure, const Panel& panel) {
        std::string title = panel.title + (panel.y.is_log ? " (logarithmic)" : "");
        title += !panel.dots.empty() ? "; o validation" : "";
        for (std::size_t i = 0; i < mark_names.size() && &panel == &figure.panels.front(); ++i) {
            const auto kind = static_cast<MarkKind>(i);
            title += figure.has(kind) ? fmt::format("; {} {}", sign_of(kind), mark_names[i]) : "";
        }
        title += !panel.alarms.empty() ? "; ! not finite" : "";
        const bool is_empty = panel.lines.empty() && panel.dots.empty();
        title += is_empty ? "; " + panel.note : "";
        text_ += '\n';
        std::istringstream rows_of_title{wrapped(title, std::max(style_.columns, min_columns), "  ")};
        for (std::string row; std::getline(rows_of_title, row);) {
            line(row);
        }
        if (!panel.labels.empty()) {
            draw_names("  ", panel.labels, has_marks(panel));
        }
        const int rows = static_cast<int>(panel.height * rows_of_unit);
        Canvas canvas{plot_columns(style_), rows, style_.has_unicode, has_marks(panel)};
        fill(canvas, figure, panel);
        std::vector<std::string> labels(rows);
        for (const auto& tick : is_empty ? std::vector<Tick>{} : panel.y.ticks((2 * rows + 1) / 3)) {
            const auto row =
                static_cast<int>(std::lround((1 - panel.y.position_of(tick.value)) * rows - 0.5));
            labels[std::clamp(row, 0, rows - 1)] = tick.text;
        }
        for (int row = 0; row < rows; ++row) {
            const auto& label = labels[row];
            const std::string bar = style_.has_unicode ? (label.empty() ? "│" : "┤") : "|";
            auto content = canvas.row(row, style_.has_colours);
            content.erase(content.find_last_not_of(' ') + 1);
            text_ += fmt::format("{:>{}} {}{}\n", label, label_columns - 2, bar, content);
        }
    }

    struct Sign {
        const char* utf8;
        char ascii;
    };
    static Sign signs_of(MarkKind kind) {
        switch (kind) {
            case MarkKind::resume:
                return {"┆", ':'};
            case MarkKind::roll_back:
                return {"«", '<'};
            case MarkKind::spike:
                return {"^", '^'};
            case MarkKind::crash:
                return {"×", 'X'};
        }
        return {"?", '?'};
    }
    std::string sign_of(MarkKind kind) const {
        const auto sign = signs_of(kind);
        return style_.has_unicode ? std::string{sign.utf8} : std::string(1, sign.ascii);
    }

    /// Draws spikes at the upper edge, and other marks as columns.
    static void fill_mark(Canvas& canvas, const RunMark& mark, int x) {
        const auto sign = signs_of(mark.kind);
        const int rows = mark.kind == MarkKind::spike ? 1 : canvas.dots_down();
        for (int y = 0; y < rows; ++y) {
            canvas.mark(x, y, mark.colour, sign.utf8, sign.ascii);
        }
    }

    void fill(Canvas& canvas, const Figure& figure, const Panel& panel) const {
        const auto at_x = [&](double x) {
            return static_cast<int>(std::lround(figure.x.position_of(x) * (canvas.dots_across() - 1)));
        };
        const auto at_y = [&](double value) {
            const double position = std::clamp(panel.y.position_of(value), -1.0, 2.0);
            return static_cast<int>(std::lround((1 - position) * (canvas.dots_down() - 1)));
        };
        if (&panel == &figure.panels.front()) {
            for (const auto& mark : figure.marks) {
                fill_mark(canvas, mark, at_x(mark.x));
            }
        }
        for (std::size_t drawn = 0; drawn < panel.lines.size(); ++drawn) {
            // The lowest of the stacked lines is drawn last: a line that adds nothing coincides with the
            // one below, and must not hide it.
            const std::size_t i = panel.is_stacked ? panel.lines.size() - 1 - drawn : drawn;
            const Point* before = nullptr;
            for (const auto& point : panel.lines[i].curve) {
                const Point& from = before == nullptr ? point : *before;
                canvas.line(at_x(from.x), at_y(from.mean), at_x(point.x), at_y(point.mean), i);
                before = &point;
            }
        }
        for (const auto& dot : panel.dots) {
            canvas.mark(at_x(dot.x), at_y(dot.value), dot.colour, "o", 'o');
        }
        for (const auto& alarm : panel.alarms) {
            canvas.mark(at_x(alarm.x), 0, alarm.colour, "!", '!');
        }
    }

    /// Draws the axis below all panels.
    void draw_x_axis(const Figure& figure) {
        const int columns = plot_columns(style_);
        std::string axis, labels(label_columns + columns + 1, ' ');
        const auto ticks = figure.x.ticks(std::max(2, columns / 12));
        std::vector<bool> is_tick(columns, false);
        std::size_t free_from = figure.x_label.find(' ') == std::string::npos
                                    ? figure.x_label.size()
                                    : figure.x_label.find(' ');  // the name of the axis begins the row
        for (const auto& tick : ticks) {
            const auto column =
                static_cast<std::size_t>(std::lround(figure.x.position_of(tick.value) * (columns - 1)));
            is_tick[std::min(column, is_tick.size() - 1)] = true;
            const std::size_t middle = static_cast<std::size_t>(label_columns) + column;
            const std::size_t begin =
                std::min(middle - std::min(middle, tick.text.size() / 2), labels.size() - tick.text.size());
            if (begin >= free_from) {
                labels.replace(begin, tick.text.size(), tick.text);
                free_from = begin + tick.text.size() + 1;
            }
        }
        for (const bool tick : is_tick) {
            axis += style_.has_unicode ? (tick ? "┴" : "─") : (tick ? "+" : "-");
        }
        text_ += std::string(label_columns - 1, ' ') + (style_.has_unicode ? "└" : "+") + axis + "\n";
        const auto label =
            figure.x_label.substr(0, figure.x_label.find(' '));  // `hours` of `hours in training`
        labels.replace(0, label.size(), label);
        line(labels.substr(0, labels.find_last_not_of(' ') + 1));
    }

    TerminalStyle style_;
    std::string text_;
};

}  // namespace

std::int64_t points_across(const TerminalStyle& style) {
    return plot_columns(style) * (style.has_unicode ? 2 : 1);
}

std::string terminal_text(const Figure& figure, const TerminalStyle& style) {
    return Drawing{style}.draw(figure);
}

}  // namespace ziggurat::plot
