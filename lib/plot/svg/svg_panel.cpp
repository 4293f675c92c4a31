#include "plot/svg/svg_panel.hpp"

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "plot/svg/svg_marks.hpp"
#include "plot/svg/svg_style.hpp"
#include "plot/svg/svg_text.hpp"

namespace ziggurat::plot {
namespace {

constexpr double upper_row = 10;  ///< height of the alarms and peaks, which hang from the upper edge

class PanelDrawing {
  public:
    PanelDrawing(const Figure& figure, const Panel& panel, const PanelBox& box, SvgElements& elements)
        : figure_{figure}, panel_{panel}, box_{box}, elements_{elements} {}

    void draw(std::size_t number) {
        elements_.add(
            "<clipPath id=\"p{}\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>"
            "</clipPath>",
            number, svg_left, box_.top - 1, svg_inner, box_.height + 2);
        elements_.add("<g clip-path=\"url(#p{})\">", number);
        for (const auto& mark : distinct_marks()) {
            elements_.append(
                mark_line(mark.kind, has_runs(), mark.colour, box_.at_x(mark.x), box_.top, box_.height));
        }
        if (panel_.is_stacked) {
            draw_areas();
        } else {
            draw_lines();
        }
        elements_.append("</g>\n");
        draw_frame();
        if (number == 0) {
            draw_saves();
        }
        draw_dots();
        draw_upper_row();
        if (number == 0) {
            draw_marks();
        }
    }

  private:
    bool has_runs() const { return figure_.runs.size() > 1; }

    void draw_frame() {
        elements_.add("<rect class=\"f\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                      svg_left, box_.top, svg_inner, box_.height);
        if (panel_.lines.empty() && panel_.dots.empty()) {
            elements_.add("<text class=\"a n\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                          svg_left + svg_inner / 2, box_.top + box_.height / 2 + 4, escape_xml(panel_.note));
        }
    }

    /// Returns the tooltip of a mark: its position and its meaning.
    std::string hint(double x, const std::string& what) const {
        return figure_.x.is_whole ? fmt::format("{} {:.0f}: {}", figure_.x_label, x, what)
                                  : fmt::format("{:.2f} {}: {}", x, figure_.x_label, what);
    }
    void add_mark(double x, const std::string& what, const std::string& symbol) {
        if (box_.has_x(x) && !symbol.empty()) {
            elements_.add("<g><title>{}</title>{}</g>", escape_xml(hint(x, what)), symbol);
        }
    }

    void draw_saves() {
        for (const auto& save : figure_.saves) {
            add_mark(save.x, "save",
                     save_symbol(has_runs() ? colour_of(save.colour) : grey, box_.at_x(save.x),
                                 box_.top + box_.height));
        }
    }

    /// Draws validations, and the last points of lines that need them.
    void draw_dots() {
        for (const auto& line : panel_.lines) {
            // With several runs, each shows its end. A run of one point is visible only by its dot.
            const auto& last = line.curve.back();
            const bool is_shown = !panel_.is_stacked && (has_runs() || line.curve.size() == 1);
            if (is_shown && box_.has_x(last.x) && box_.has_y(last.mean)) {
                elements_.add("<circle class=\"c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>",
                              colour_of(line.colour), box_.at_x(last.x), box_.at_y(last.mean));
            }
        }
        for (const auto& dot : panel_.dots) {
            const double x = box_.at_x(dot.x), y = box_.at_y(dot.value);
            add_mark(dot.x, fmt::format("validation {:.4f}", dot.value),
                     fmt::format(
                         "<circle class=\"v c{0}\" cx=\"{1:.1f}\" cy=\"{2:.1f}\" r=\"4.5\" opacity=\".25\"/>"
                         "<circle class=\"s{0}\" stroke-width=\"1.5\" cx=\"{1:.1f}\" cy=\"{2:.1f}\" "
                         "r=\"3.5\"/>",
                         colour_of(dot.colour), x, y));
        }
    }

    void draw_upper_row() {
        for (const auto& alarm : panel_.alarms) {
            add_mark(alarm.x, "loss is not finite", alarm_symbol(box_.at_x(alarm.x), box_.top + 2));
        }
        for (const auto& peak : panel_.peaks) {
            add_mark(peak.x, fmt::format("peak of {:.4g}", peak.value),
                     peak_symbol(colour_of(peak.colour), box_.at_x(peak.x), box_.top + 1));
        }
    }

    /// Draws the symbols of the marks, below alarms and peaks.
    void draw_marks() {
        const double below = panel_.alarms.empty() && panel_.peaks.empty() ? 0 : upper_row;
        for (const auto& mark : distinct_marks()) {
            const double row = below + (mark.kind == MarkKind::spike ? 18 : 7);
            add_mark(
                mark.x,
                mark.text.empty() ? std::string{mark_names[static_cast<std::size_t>(mark.kind)]} : mark.text,
                mark_symbol(mark.kind, has_runs(), mark.colour, box_.at_x(mark.x), box_.top + row));
        }
    }

    /// Returns the marks without those at the same position as one of the same kind and run.
    std::vector<RunMark> distinct_marks() const {
        auto marks = figure_.marks;
        const auto spot = [&](const RunMark& mark) {
            return std::tuple{mark.kind, mark.colour, std::lround(figure_.x.position_of(mark.x) * svg_inner)};
        };
        std::ranges::sort(marks, {}, spot);
        const auto [first, last] = std::ranges::unique(marks, {}, spot);
        marks.erase(first, last);
        return marks;
    }

    /// Draws the spread and the single steps of every line, then all means on top.
    void draw_lines() {
        for (const auto& line : panel_.lines) {
            if (std::ranges::any_of(line.curve, has_spread)) {
                draw_between(
                    line, 0.18, [](const Point& p) { return p.high; },
                    [&line](std::size_t i) { return line.curve[i].low; });
            }
            if (std::ranges::any_of(line.curve, is_smoothed_step)) {
                std::string points;
                for (const auto& point : line.curve) {
                    append_point(points, point.x, point.low);
                }
                elements_.add("<path class=\"s{}\" opacity=\".5\" stroke-linejoin=\"round\" d=\"M{}\"/>",
                              colour_of(line.colour), points);
            }
        }
        for (const auto& line : panel_.lines) {
            if (line.curve.size() == 1) {
                continue;
            }
            std::string points;
            for (const auto& point : line.curve) {
                append_point(points, point.x, point.mean);
            }
            elements_.add(
                "<polyline class=\"s{}\" stroke-width=\"1.8\" stroke-linejoin=\"round\"{} points=\"{}\"/>",
                colour_of(line.colour), dash_of(line.colour), points);
        }
    }

    void draw_areas() {
        for (std::size_t i = 0; i < panel_.lines.size(); ++i) {
            const auto* below = i == 0 ? nullptr : &panel_.lines[i - 1].curve;
            draw_between(
                panel_.lines[i], 0.8, [](const Point& p) { return p.mean; },
                [below](std::size_t k) { return below == nullptr ? 0.0 : (*below)[k].mean; });
        }
    }

    /// Draws the area between two curves; a column for a single point.
    template <class Upper, class Lower>
    void draw_between(const Line& line, double opacity, const Upper& upper, const Lower& lower) {
        const double half = line.curve.size() == 1 ? 6 / svg_inner * (box_.x.high - box_.x.low) : 0;
        std::string points;
        for (const auto& point : line.curve) {
            append_point(points, point.x - half, upper(point));
        }
        if (half > 0) {
            append_point(points, line.curve.front().x + half, upper(line.curve.front()));
            append_point(points, line.curve.front().x + half, lower(0));
        }
        for (std::size_t i = line.curve.size(); i-- > 0;) {
            append_point(points, line.curve[i].x - half, lower(i));
        }
        elements_.add("<polygon class=\"c{}\" opacity=\"{}\" points=\"{}\"/>", colour_of(line.colour),
                      opacity, points);
    }

    void append_point(std::string& points, double x, double value) const {
        fmt::format_to(std::back_inserter(points), "{}{:.1f},{:.1f}", points.empty() ? "" : " ", box_.at_x(x),
                       box_.at_y(value));
    }

    const Figure& figure_;
    const Panel& panel_;
    const PanelBox& box_;
    SvgElements& elements_;
};

}  // namespace

void draw_panel(const Figure& figure, std::size_t number, const PanelBox& box, SvgElements& elements) {
    PanelDrawing{figure, figure.panels[number], box, elements}.draw(number);
}

}  // namespace ziggurat::plot
