#include "plot/svg/svg_legend.hpp"

#include <string>

#include "plot/svg/svg_marks.hpp"
#include "plot/svg/svg_style.hpp"
#include "plot/svg/svg_text.hpp"

namespace ziggurat::plot {
namespace {

constexpr double max_label = 330;  ///< maximum width of a run's name, in pixels
constexpr double row_height = 20;
constexpr double symbol_width = 24, gap = 20;

class Legend {
  public:
    Legend(double y, SvgElements& elements) : y_{y}, elements_{elements} {}

    /// \param symbol  draws a symbol, given its left end x and its middle y
    template <class Symbol>
    void entry(const std::string& label, const Symbol& symbol) {
        const double length = symbol_width + text_pixels(label);
        if (x_ > svg_left && x_ + length > svg_width - svg_right) {
            x_ = svg_left;
            y_ += row_height;
        }
        symbol(x_, y_ - 4);
        elements_.add("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", x_ + symbol_width, y_, escape_xml(label));
        x_ += length + gap;
    }
    double y() const { return y_; }

  private:
    double x_ = svg_left, y_;
    SvgElements& elements_;
};

/// Adds entries for shadings and thin lines, in the colour of the first run.
void add_curve_entries(const Figure& figure, Legend& legend, SvgElements& elements) {
    if (figure.has_bands) {
        legend.entry("shading: range of single steps", [&](double x, double y) {
            elements.add(
                "<rect class=\"c0\" opacity=\".25\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"18\" height=\"9\"/>", x,
                y - 5);
        });
    }
    if (figure.has_raw) {
        legend.entry("faint line: single steps", [&](double x, double y) {
            elements.add("<path class=\"s0\" opacity=\".5\" d=\"M{:.1f} {:.1f}h18\"/>", x, y);
        });
    }
    if (figure.has_validations) {
        legend.entry("validation", [&](double x, double y) {
            elements.add("<circle class=\"s{}\" stroke-width=\"1.5\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>",
                         grey, x + 12, y);
        });
    }
}

void add_mark_entries(const Figure& figure, Legend& legend, SvgElements& elements) {
    const bool has_runs = figure.runs.size() > 1;  // then marks have the colours of their runs
    for (std::size_t i = 0; i < mark_names.size(); ++i) {
        const auto kind = static_cast<MarkKind>(i);
        if (figure.has(kind)) {
            legend.entry(std::string{mark_names[i]}, [&](double x, double y) {
                elements.append(mark_line(kind, has_runs, grey, x + 12, y - 7, 14));
                elements.append(mark_symbol(kind, has_runs, grey, x + 12, y));
            });
        }
    }
    if (!figure.saves.empty()) {
        legend.entry("save", [&](double x, double y) { elements.append(save_symbol(grey, x + 12, y + 4)); });
    }
    const auto any = [&](const auto& marks) {
        return std::ranges::any_of(figure.panels,
                                   [&](const Panel& panel) { return !(panel.*marks).empty(); });
    };
    if (any(&Panel::alarms)) {
        legend.entry("loss is not finite",
                     [&](double x, double y) { elements.append(alarm_symbol(x + 12, y - 3)); });
    }
    if (any(&Panel::peaks)) {
        legend.entry("peak above the axis",
                     [&](double x, double y) { elements.append(peak_symbol(grey, x + 12, y - 4)); });
    }
}

}  // namespace

double draw_legend(const Figure& figure, double y, SvgElements& elements) {
    Legend legend{y, elements};
    for (std::size_t run = 0; run < figure.runs.size(); ++run) {
        legend.entry(shortened_to(figure.runs[run], max_label), [&](double x, double middle) {
            elements.add("<path class=\"s{}\" stroke-width=\"2.5\"{} d=\"M{:.1f} {:.1f}h18\"/>",
                         colour_of(run), dash_of(run), x, middle);
        });
    }
    add_curve_entries(figure, legend, elements);
    add_mark_entries(figure, legend, elements);
    return legend.y();
}

}  // namespace ziggurat::plot
