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
constexpr std::ptrdiff_t max_mark_labels = 4;

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
    bool has_marks(const Figure& figure, const Panel& panel) const {
        return !style_.has_colours && (figure.runs.size() > 1 || panel.labels.size() > 1);
    }

    /// Returns the colour index of a line. Lanes of a stack are counted, so that neighbours differ.
    static std::size_t colour_of(const Panel& panel, std::size_t line) {
        return panel.is_stacked ? line : panel.lines[line].colour;
    }

    /// Draws names with their colours or marks. Starts a new row if a name does not fit.
    void draw_names(const std::string& indent, const std::vector<Label>& names, bool with_marks) {
        std::string row = indent;
        int taken = text_width(indent);
        for (const auto& [colour, text] : names) {
            const auto name =
                shortened_from_left(text, std::max(style_.columns, min_columns) - text_width(indent) - 3);
            const int needed = text_width(name) + 4;
            if (taken > text_width(indent) && taken + needed > std::max(style_.columns, min_columns)) {
                end_row(row);
                row = indent;
                taken = text_width(indent);
            }
            const std::string sign = with_marks           ? std::string(1, Canvas::mark_of(colour))
                                     : style_.has_unicode ? "■"
                                                          : "#";
            row += coloured(sign, colour) + " " + name + "  ";
            taken += needed;
        }
        end_row(row);
    }

    std::string coloured(const std::string& sign, std::size_t colour) const {
        return style_.has_colours ? Canvas::colour_of(colour) + sign + "\x1b[0m" : sign;
    }

    void end_row(const std::string& row) { text_ += row.substr(0, row.find_last_not_of(' ') + 1) + "\n"; }

    void draw_legend(const Figure& figure) {
        if (figure.runs.size() > 1) {
            std::vector<Label> names;
            for (const auto& run : figure.runs) {
                names.push_back({names.size(), run});
            }
            draw_names("", names, !style_.has_colours);
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
            auto names = panel.labels;
            for (std::size_t i = 0; panel.is_stacked && i < names.size(); ++i) {
                names[i].colour = i;
            }
            draw_names("  ", names, has_marks(figure, panel));
        }
        if (&panel == &figure.panels.front()) {
            draw_mark_labels(figure);
        }
        const int rows = static_cast<int>(panel.height * rows_of_unit);
        Canvas canvas{plot_columns(style_), rows, style_.has_unicode, has_marks(figure, panel)};
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

    /// Draws one row for each of the latest marks with labels.
    void draw_mark_labels(const Figure& figure) {
        std::vector<const RunMark*> marks;
        for (const auto& mark : figure.marks) {
            if (!mark.labels.empty()) {
                marks.push_back(&mark);
            }
        }
        std::ranges::stable_sort(marks, {}, [](const RunMark* mark) { return mark->x; });
        const auto left_out = std::max<std::ptrdiff_t>(0, std::ssize(marks) - max_mark_labels);
        if (left_out > 0) {
            line(fmt::format("  {} earlier changes are only in the curves", left_out));
        }
        const auto unit = figure.x_label.substr(0, figure.x_label.find(' '));
        for (auto mark = marks.begin() + left_out; mark != marks.end(); ++mark) {
            const bool has_run_mark = !style_.has_colours && figure.runs.size() > 1;
            const auto sign = sign_of((*mark)->kind);
            const auto head =
                (has_run_mark ? std::string{Canvas::mark_of((*mark)->colour)} : std::string{}) + sign;
            const auto x = figure.x.is_whole ? fmt::format("{} {:.0f}", unit, (*mark)->x)
                                             : fmt::format("{:.2f} {}", (*mark)->x, unit);
            const auto text = fmt::format(" {}: {}", x, (*mark)->labels.front());
            const int room = std::max(style_.columns, min_columns) - 2 - text_width(head);
            text_ += fmt::format("  {}{}\n", coloured(head, (*mark)->colour), clipped(text, room));
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
            case MarkKind::weights:
                return {"║", 'w'};
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
                canvas.line(at_x(from.x), at_y(from.mean), at_x(point.x), at_y(point.mean),
                            colour_of(panel, i));
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
