#include "plot/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "plot/svg_marks.hpp"
#include "plot/svg_text.hpp"

namespace ziggurat::plot {
namespace {

constexpr double width = 960, left = 74, right = 22;
constexpr double inner = width - left - right;
constexpr double title_pixels = 16, first_row = 52, row_height = 20;
constexpr double panel_gap = 22, title_room = 20, label_row = 18, unit_height = 130, foot = 52;
constexpr double most_label = 330;  ///< of a run's name in the legend
constexpr double line_height = 15;  ///< of a text and the room around it
constexpr int ticks_across = 8;

/// The box in which a panel's curves are drawn.
struct Box {
    double top = 0, height = 0;
    const FigureAxis &x, &y;

    double at_x(double value) const { return left + x.place_of(value) * inner; }
    /// Not far outside: viewers take numbers of some size only.
    double at_y(double value) const { return top + (1 - std::clamp(y.place_of(value), -1.0, 2.0)) * height; }
};

class Drawing {
  public:
    Drawing(const Figure& figure, Scheme scheme) : figure_{figure}, scheme_{scheme} {}

    std::string draw() {
        double y = draw_legend() + 8;
        double bottom = y;
        for (const auto& panel : figure_.panels) {
            const auto top = draw_title(panel, y);
            const Box box{top, panel.height * unit_height, figure_.x, panel.y};
            draw_panel(panel, box);
            bottom = box.top + box.height;
            y = bottom + panel_gap;
        }
        draw_x_axis(bottom);
        const double height = bottom + foot;
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
            "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n"
            "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n"
            "<text class=\"t\" x=\"{4:.0f}\" y=\"28\">{5}</text>\n{6}</svg>\n",
            width, height, escape_xml(figure_.title), style_sheet(scheme_), left,
            escape_xml(shortened_to(figure_.title, inner, title_pixels)), body_);
    }

  private:
    template <class... Arguments>
    void add(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(body_), form, std::forward<Arguments>(arguments)...);
        body_ += '\n';
    }

    bool has_runs() const { return figure_.runs.size() > 1; }

    /// Rows of symbols and names. Returns the y below them.
    double draw_legend() {
        double x = left, y = first_row;
        const auto entry = [&](const std::string& label, const auto& symbol) {
            const double length = 24 + text_pixels(label);
            if (x > left && x + length > width - right) {
                x = left;
                y += row_height;
            }
            symbol(x, y - 4);
            add("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x + 24, y, escape_xml(label));
            x += length + 12;
        };
        for (std::size_t run = 0; run < figure_.runs.size(); ++run) {
            entry(shortened_to(figure_.runs[run], most_label), [&](double at, double middle) {
                add("<path class=\"s{}\" stroke-width=\"2.5\"{} d=\"M{:.1f} {:.1f}h18\"/>", colour_of(run),
                    dash_of(run), at, middle);
            });
        }
        if (figure_.has_bands) {
            entry("band: lowest to highest of the steps in a point", [&](double at, double middle) {
                add("<rect class=\"c0\" opacity=\".25\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"18\" "
                    "height=\"9\"/>",
                    at, middle - 5);
            });
        }
        if (figure_.has_validations) {
            entry("validation", [&](double at, double middle) {
                add("<circle class=\"s{}\" stroke-width=\"1.5\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>",
                    grey, at + 12, middle);
            });
        }
        for (std::size_t i = 0; i < mark_names.size(); ++i) {
            const auto kind = static_cast<MarkKind>(i);
            if (figure_.has(kind)) {
                entry(std::string{mark_names[i]}, [&](double at, double middle) {
                    body_ += mark_line(kind, false, 0, at + 12, middle - 7, 14);
                    body_ += mark_symbol(kind, false, 0, at + 12, middle);
                });
            }
        }
        if (!figure_.saves.empty()) {
            entry("save", [&](double at, double middle) { body_ += save_symbol(grey, at + 12, middle + 4); });
        }
        const bool has_alarms =
            std::ranges::any_of(figure_.panels, [](const Panel& panel) { return !panel.alarms.empty(); });
        if (has_alarms) {
            entry("loss is not finite",
                  [&](double at, double middle) { body_ += alarm_symbol(at + 12, middle - 3); });
        }
        return y;
    }

    /// The title of a panel, and next to it or below it the names of its lanes. Returns the top of its box.
    double draw_title(const Panel& panel, double y) {
        const auto title = panel.title + (panel.y.is_log ? " (logarithmic)" : "");
        double row = y + 12;
        add("<text class=\"p\" x=\"{:.0f}\" y=\"{:.1f}\">{}</text>", left, row, escape_xml(title));
        std::vector<std::string> labels;
        double taken = 0;
        for (std::string label : panel.labels) {
            std::ranges::replace(label, '_', ' ');
            taken += label_pixels(label);
            labels.push_back(std::move(label));
        }
        const bool fits = text_pixels(title) + 24 + taken <= inner;
        double x = fits ? width - right - taken : left;
        row += fits || labels.empty() ? 0 : label_row;
        for (std::size_t lane = labels.size(); lane-- > 0;) {
            if (x > left && x + label_pixels(labels[lane]) > width - right + 1) {
                x = left;
                row += label_row;
            }
            add("<rect class=\"c{}\" opacity=\".8\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\"/>"
                "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                colour_of(panel.lines[lane].colour), x, row - 9, x + 16, row, escape_xml(labels[lane]));
            x += label_pixels(labels[lane]);
        }
        return row + title_room - 12;
    }
    static double label_pixels(const std::string& label) { return 30 + text_pixels(label); }

    /// Lines at the ticks, and their values where they do not touch the one before.
    void draw_grid(const Panel& panel, const Box& box) {
        double free_below = std::numeric_limits<double>::infinity();
        for (const auto& tick : panel.y.ticks(std::max(2, static_cast<int>(4 * panel.height)))) {
            const double y = box.at_y(tick.value);
            add("<path class=\"g\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>", left, y, inner);
            if (y < free_below) {
                add("<text class=\"a\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left - 8,
                    y + 4, tick.text);
                free_below = y - line_height;
            }
        }
        for (const auto& tick : figure_.x.ticks(ticks_across)) {
            add("<path class=\"g\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>", box.at_x(tick.value), box.top, box.height);
        }
    }

    /// Values and name of the horizontal axis, below the last panel.
    void draw_x_axis(double bottom) {
        double free_from = 0;
        for (const auto& tick : figure_.x.ticks(ticks_across)) {
            const double half = text_pixels(tick.text) / 2;
            const double x = std::min(left + figure_.x.place_of(tick.value) * inner, width - half);
            if (x - half >= free_from) {
                add("<text class=\"a\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x,
                    bottom + 20, tick.text);
                free_from = x + half;
            }
        }
        add("<text class=\"a\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>", left + inner / 2,
            bottom + 40, figure_.x_label);
    }

    void draw_panel(const Panel& panel, const Box& box) {
        draw_grid(panel, box);
        add("<clipPath id=\"p{}\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
            "height=\"{:.1f}\"/></clipPath>",
            num_panels_, left, box.top - 1, inner, box.height + 2);
        add("<g clip-path=\"url(#p{})\">", num_panels_++);
        for (const auto& mark : distinct_marks()) {
            body_ += mark_line(mark.kind, has_runs(), mark.colour, box.at_x(mark.x), box.top, box.height);
        }
        if (panel.is_stacked) {
            draw_areas(panel, box);
        } else {
            draw_lines(panel, box);
        }
        const bool is_first = &panel == &figure_.panels.front();
        for (std::size_t i = 0; is_first && i < figure_.saves.size(); ++i) {
            const auto& save = figure_.saves[i];
            body_ += save_symbol(has_runs() ? colour_of(save.colour) : grey, box.at_x(save.x),
                                 box.top + box.height);
        }
        body_ += "</g>\n";
        for (const auto& dot : panel.dots) {
            add("<circle class=\"v c{0}\" cx=\"{1:.1f}\" cy=\"{2:.1f}\" r=\"4.5\" opacity=\".25\"/>"
                "<circle class=\"s{0}\" stroke-width=\"1.5\" cx=\"{1:.1f}\" cy=\"{2:.1f}\" r=\"3.5\"/>",
                colour_of(dot.colour), box.at_x(dot.x), box.at_y(dot.value));
        }
        for (const auto& alarm : panel.alarms) {
            body_ += alarm_symbol(box.at_x(alarm.x), box.top + 2);
        }
        for (const auto& mark : is_first ? distinct_marks() : std::vector<RunMark>{}) {
            const double below = mark.kind == MarkKind::spike ? 18 : 7;
            body_ += mark_symbol(mark.kind, has_runs(), mark.colour, box.at_x(mark.x), box.top + below);
        }
        add("<rect class=\"f\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", left, box.top,
            inner, box.height);
    }

    /// The marks without those on the same spot as one of the same kind and run.
    std::vector<RunMark> distinct_marks() const {
        auto marks = figure_.marks;
        const auto spot = [&](const RunMark& mark) {
            return std::tuple{mark.kind, mark.colour, std::lround(figure_.x.place_of(mark.x) * inner)};
        };
        std::ranges::sort(marks, {}, spot);
        const auto [first, last] = std::ranges::unique(marks, {}, spot);
        marks.erase(first, last);
        return marks;
    }

    /// Of every line its spread, then its mean upon all spreads.
    void draw_lines(const Panel& panel, const Box& box) {
        for (const auto& line : panel.lines) {
            const bool has_spread =
                std::ranges::any_of(line.curve, [](const Point& point) { return point.low < point.high; });
            if (has_spread) {
                draw_between(
                    line, box, 0.18, [](const Point& p) { return p.high; },
                    [&line](std::size_t i) { return line.curve[i].low; });
            }
        }
        for (const auto& line : panel.lines) {
            const auto& last = line.curve.back();
            // Of several runs each shows where it ends, and a short one that it is there.
            if (has_runs() || line.curve.size() == 1) {
                add("<circle class=\"c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>", colour_of(line.colour),
                    box.at_x(last.x), box.at_y(last.mean));
            }
            if (line.curve.size() == 1) {
                continue;
            }
            std::string points;
            for (const auto& point : line.curve) {
                append_point(points, box, point.x, point.mean);
            }
            add("<polyline class=\"s{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{} points=\"{}\"/>",
                colour_of(line.colour), dash_of(line.colour), points);
        }
    }

    void draw_areas(const Panel& panel, const Box& box) {
        for (std::size_t i = 0; i < panel.lines.size(); ++i) {
            const auto* below = i == 0 ? nullptr : &panel.lines[i - 1].curve;
            draw_between(
                panel.lines[i], box, 0.8, [](const Point& p) { return p.mean; },
                [below](std::size_t k) { return below == nullptr ? 0.0 : (*below)[k].mean; });
        }
    }

    template <class Upper, class Lower>
    void draw_between(
        const Line& line, const Box& box, double opacity, const Upper& upper, const Lower& lower) {
        std::string points;
        for (const auto& point : line.curve) {
            append_point(points, box, point.x, upper(point));
        }
        for (std::size_t i = line.curve.size(); i-- > 0;) {
            append_point(points, box, line.curve[i].x, lower(i));
        }
        add("<polygon class=\"c{}\" opacity=\"{}\" points=\"{}\"/>", colour_of(line.colour), opacity, points);
    }

    static void append_point(std::string& points, const Box& box, double x, double value) {
        fmt::format_to(std::back_inserter(points), "{}{:.1f},{:.1f}", points.empty() ? "" : " ", box.at_x(x),
                       box.at_y(value));
    }

    const Figure& figure_;
    Scheme scheme_;
    int num_panels_ = 0;
    std::string body_;
};

}  // namespace

std::string svg(const Figure& figure, Scheme scheme) {
    return Drawing{figure, scheme}.draw();
}

}  // namespace ziggurat::plot
