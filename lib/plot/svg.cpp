#include "plot/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/text_width.hpp"

namespace ziggurat::plot {
namespace {

constexpr double width = 960, left = 74, right = 22;
constexpr double title_height = 52, legend_row = 20, panel_gap = 40, unit_height = 130, foot = 50;
constexpr double glyph = 7.2;   ///< width of a character of the legend, on the safe side
constexpr int most_label = 44;  ///< characters of a run's name in the legend
constexpr int ticks_across = 8;

/// Colours that also those who see few of them tell apart, for light and for dark backgrounds.
/// Source: Okabe and Ito, "Color Universal Design", 2008; lighter ones for dark.
struct Colour {
    const char *light, *dark;
};
constexpr std::array<Colour, 8> colours{{{"#0072b2", "#56b4e9"},
                                         {"#d55e00", "#ff8c42"},
                                         {"#009e73", "#2fd3a2"},
                                         {"#b0559b", "#e59ccf"},
                                         {"#a87900", "#e6b422"},
                                         {"#4b5fc4", "#93a4ff"},
                                         {"#7a5230", "#c79a72"},
                                         {"#5f6b73", "#a9b4bb"}}};
/// Of the second eight runs, and so on.
constexpr std::array<const char*, 4> dashes{"", "6 3", "2 3", "8 3 2 3"};

std::string style_sheet(Scheme scheme) {
    std::string text =
        "text{font:12px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#24292f}"
        ".t{font-size:16px;font-weight:600}.p{font-weight:600}.a{fill:#57606a}"
        ".bg{fill:#ffffff}.g{stroke:#d8dee4}.f{stroke:#8c959f;fill:none}.x{fill:#cf222e}";
    for (std::size_t i = 0; i < colours.size(); ++i) {
        text +=
            fmt::format(".s{0}{{stroke:{1};fill:none}}.c{0}{{fill:{1};stroke:none}}", i, colours[i].light);
    }
    if (scheme == Scheme::light) {
        return text;
    }
    text +=
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.a{fill:#9198a1}.bg{fill:#0d1117}"
        ".g{stroke:#2b323b}.f{stroke:#6e7681}.x{fill:#ff7b72}";
    for (std::size_t i = 0; i < colours.size(); ++i) {
        text += fmt::format(".s{0}{{stroke:{1}}}.c{0}{{fill:{1}}}", i, colours[i].dark);
    }
    return text + "}";
}

std::size_t colour_of(std::size_t number) {
    return number % colours.size();
}

std::string dash_of(std::size_t number) {
    const std::string dash = dashes[number / colours.size() % dashes.size()];
    return dash.empty() ? "" : " stroke-dasharray=\"" + dash + "\"";
}

/// Where a panel is drawn.
struct Box {
    double top = 0, height = 0;
    const FigureAxis &x, &y;

    double at_x(double step) const { return left + x.place_of(step) * (width - left - right); }
    /// Not far outside: viewers take numbers of some size only.
    double at_y(double value) const { return top + (1 - std::clamp(y.place_of(value), -1.0, 2.0)) * height; }
};

class Drawing {
  public:
    explicit Drawing(Scheme scheme) : scheme_{scheme} {}

    std::string draw(const Figure& figure) {
        const double legend = draw_legend(figure);
        double top = title_height + legend + 16;
        double bottom = top;
        std::size_t number = 0;
        for (const auto& panel : figure.panels) {
            const Box box{top, panel.height * unit_height, figure.x, panel.y};
            draw_panel(figure, panel, box, number++);
            bottom = box.top + box.height;
            top = bottom + panel_gap;
        }
        add("<text class=\"a\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">step</text>",
            (left + width - right) / 2, bottom + 36);
        const double height = bottom + foot;
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
            "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n"
            "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n"
            "<text class=\"t\" x=\"{4:.0f}\" y=\"28\">{2}</text>\n{5}</svg>\n",
            width, height, escape_xml(figure.title), style_sheet(scheme_), left, body_);
    }

  private:
    template <class... Arguments>
    void add(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(body_), form, std::forward<Arguments>(arguments)...);
        body_ += '\n';
    }

    /// Rows of swatches and names; the height that they take.
    double draw_legend(const Figure& figure) {
        double x = left, y = title_height;
        const auto entry = [&](const std::string& label, const auto& swatch) {
            const double length = 34 + glyph * text_width(label);
            if (x > left && x + length > width - right) {
                x = left;
                y += legend_row;
            }
            swatch(x, y - 4);
            add("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x + 24, y, escape_xml(label));
            x += length;
        };
        for (std::size_t run = 0; run < figure.runs.size(); ++run) {
            entry(shortened_from_left(figure.runs[run], most_label), [&](double at, double middle) {
                add("<path class=\"s{}\" stroke-width=\"2.5\"{} d=\"M{:.1f} {:.1f}h18\"/>", colour_of(run),
                    dash_of(run), at, middle);
            });
        }
        if (figure.has_validations) {
            entry("validation", [&](double at, double middle) {
                add("<circle class=\"s7\" stroke-width=\"1.5\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>",
                    at + 12, middle);
            });
        }
        if (!figure.restarts.empty()) {
            entry("restart", [&](double at, double middle) {
                add("<path class=\"s7\" stroke-dasharray=\"3 3\" d=\"M{:.1f} {:.1f}v14\"/>", at + 12,
                    middle - 7);
            });
        }
        if (!figure.saves.empty()) {
            entry("checkpoint",
                  [&](double at, double middle) { draw_save(colours.size() - 1, at + 12, middle + 4); });
        }
        const bool has_alarms =
            std::ranges::any_of(figure.panels, [](const Panel& p) { return !p.alarms.empty(); });
        if (has_alarms) {
            entry("not finite", [&](double at, double middle) { draw_alarm(at + 12, middle - 3); });
        }
        return y - title_height + legend_row;
    }

    /// Upon the lower edge.
    void draw_save(std::size_t colour, double x, double y) {
        add("<path class=\"c{} k\" d=\"M{:.1f} {:.1f}h6l-3 -6z\"/>", colour, x - 3, y);
    }

    void draw_alarm(double x, double y) { add("<path class=\"x\" d=\"M{:.1f} {:.1f}h8l-4 7z\"/>", x - 4, y); }

    void draw_panel(const Figure& figure, const Panel& panel, const Box& box, std::size_t number) {
        const double inner = width - left - right;
        add("<text class=\"p\" x=\"{:.0f}\" y=\"{:.1f}\">{}{}</text>", left, box.top - 8,
            escape_xml(panel.title), panel.y.is_log ? " (logarithmic)" : "");
        draw_labels(panel, box);
        for (const auto& tick : panel.y.ticks(panel.height > 1 ? 7 : 4)) {
            const double y = box.at_y(tick.value);
            add("<path class=\"g\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>"
                "<text class=\"a\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
                left, y, inner, left - 8, y + 4, tick.text);
        }
        const bool is_last = &panel == &figure.panels.back();
        for (const auto& tick : figure.x.ticks(ticks_across)) {
            const double x = box.at_x(tick.value);
            add("<path class=\"g\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>", x, box.top, box.height);
            if (is_last) {
                add("<text class=\"a\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x,
                    box.top + box.height + 18, tick.text);
            }
        }
        add("<clipPath id=\"p{}\"><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
            "height=\"{:.1f}\"/></clipPath>",
            number, left, box.top - 1, inner, box.height + 2);
        add("<g clip-path=\"url(#p{})\">", number);
        for (const auto& restart : figure.restarts) {
            add("<path class=\"s{}\" stroke-dasharray=\"3 3\" opacity=\".7\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>",
                figure.runs.size() > 1 ? colour_of(restart.colour) : colours.size() - 1,
                box.at_x(restart.step), box.top, box.height);
        }
        if (panel.is_stacked) {
            draw_areas(panel, box);
        } else {
            draw_lines(panel, box);
        }
        if (&panel == &figure.panels.front()) {
            for (const auto& save : figure.saves) {
                draw_save(figure.runs.size() > 1 ? colour_of(save.colour) : colours.size() - 1,
                          box.at_x(save.step), box.top + box.height);
            }
        }
        body_ += "</g>\n";
        for (const auto& dot : panel.dots) {
            add("<circle class=\"v c{0}\" cx=\"{1:.1f}\" cy=\"{2:.1f}\" r=\"4.5\" opacity=\".25\"/>"
                "<circle class=\"s{0}\" stroke-width=\"1.5\" cx=\"{1:.1f}\" cy=\"{2:.1f}\" r=\"3.5\"/>",
                colour_of(dot.colour), box.at_x(dot.step), box.at_y(dot.value));
        }
        for (const auto& alarm : panel.alarms) {
            draw_alarm(box.at_x(alarm.step), box.top + 2);
        }
        add("<rect class=\"f\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", left, box.top,
            inner, box.height);
    }

    /// Names of lines, from the right end of the title's row, top of the stack first.
    void draw_labels(const Panel& panel, const Box& box) {
        double x = width - right;
        for (std::size_t lane = panel.labels.size(); lane-- > 0;) {
            std::string label = panel.labels[lane];
            std::ranges::replace(label, '_', ' ');
            x -= glyph * text_width(label);
            add("<rect class=\"c{}\" opacity=\".8\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\"/>"
                "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                colour_of(panel.lines[lane].colour), x - 16, box.top - 17, x, box.top - 8, escape_xml(label));
            x -= 34;
        }
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
            if (line.curve.size() == 1) {
                const auto& only = line.curve.front();
                add("<circle class=\"c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>", colour_of(line.colour),
                    box.at_x(only.step), box.at_y(only.mean));
                continue;
            }
            std::string points;
            for (const auto& point : line.curve) {
                append_point(points, box, point.step, point.mean);
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
            append_point(points, box, point.step, upper(point));
        }
        for (std::size_t i = line.curve.size(); i-- > 0;) {
            append_point(points, box, line.curve[i].step, lower(i));
        }
        add("<polygon class=\"c{}\" opacity=\"{}\" points=\"{}\"/>", colour_of(line.colour), opacity, points);
    }

    static void append_point(std::string& points, const Box& box, double step, double value) {
        fmt::format_to(std::back_inserter(points), "{}{:.1f},{:.1f}", points.empty() ? "" : " ",
                       box.at_x(step), box.at_y(value));
    }

    Scheme scheme_;
    std::string body_;
};

}  // namespace

std::string escape_xml(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        switch (c) {
            case '&':
                safe += "&amp;";
                break;
            case '<':
                safe += "&lt;";
                break;
            case '>':
                safe += "&gt;";
                break;
            case '"':
                safe += "&quot;";
                break;
            case '\'':
                safe += "&#39;";
                break;
            default:
                safe += c;
        }
    }
    return safe;
}

std::string svg(const Figure& figure, Scheme scheme) {
    return Drawing{scheme}.draw(figure);
}

}  // namespace ziggurat::plot
