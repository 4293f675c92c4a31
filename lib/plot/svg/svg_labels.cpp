#include "plot/svg/svg_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "plot/svg/svg_style.hpp"
#include "plot/svg/svg_text.hpp"

namespace ziggurat::plot {
namespace {

constexpr double title_room = 20, label_row = 18, label_gap = 16;
constexpr double max_curve_label = 330;  ///< maximum width of a label, in pixels
constexpr double area_symbol = 16, line_symbol = 24;
constexpr double mark_row = 17, mark_baseline = 9;
constexpr double mark_gap = 10;  ///< minimum distance of the labels of marks

double symbol_width(const Panel& panel) {
    return panel.is_stacked ? area_symbol : line_symbol;
}

double label_pixels(const Panel& panel, const std::string& label) {
    return symbol_width(panel) + text_pixels(label) + label_gap;
}

/// Returns an area of a stack, or a line with its pattern, as an SVG element.
std::string label_symbol(const Panel& panel, std::size_t colour, double x, double baseline) {
    return panel.is_stacked
               ? fmt::format(
                     "<rect class=\"c{}\" opacity=\".8\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" "
                     "height=\"11\"/>",
                     colour_of(colour), x, baseline - 9)
               : fmt::format("<path class=\"s{}\" stroke-width=\"2.5\"{} d=\"M{:.1f} {:.1f}h18\"/>",
                             colour_of(colour), dash_of(colour), x, baseline - 4);
}

/// Label of a mark, with its middle.
struct PlacedLabel {
    double middle = 0;
    std::string text;

    double left() const { return middle - 0.5 * text_pixels(text); }
    double right() const { return middle + 0.5 * text_pixels(text); }
};

/// Returns one label per mark, number `choice` or its last one, from the left to the right.
///
/// Marks with the same label at the same position share it.
std::vector<PlacedLabel> labels_of(const Figure& figure, std::size_t choice) {
    std::vector<PlacedLabel> labels;
    for (const auto& mark : figure.marks) {
        const double position = figure.x.position_of(mark.x);
        if (mark.labels.empty() || position < 0 || position > 1) {
            continue;
        }
        PlacedLabel label{svg_left + position * svg_inner,
                          mark.labels[std::min(choice, mark.labels.size() - 1)]};
        const double half = 0.5 * text_pixels(label.text);
        label.middle = std::clamp(label.middle, svg_left + half, svg_width - svg_right - half);
        labels.push_back(std::move(label));
    }
    std::ranges::stable_sort(labels, {}, &PlacedLabel::left);
    const auto is_same = [](const PlacedLabel& a, const PlacedLabel& b) {
        return a.text == b.text && b.middle - a.middle < 1;
    };
    const auto [first, last] = std::ranges::unique(labels, is_same);
    labels.erase(first, last);
    return labels;
}

bool fit(const std::vector<PlacedLabel>& labels) {
    for (std::size_t i = 1; i < labels.size(); ++i) {
        if (labels[i].left() < labels[i - 1].right() + mark_gap) {
            return false;
        }
    }
    return true;
}

}  // namespace

double draw_panel_title(const Panel& panel, double y, SvgElements& elements) {
    const auto title =
        shortened_to(panel.title + (panel.y.is_log ? " (logarithmic)" : ""), svg_inner, panel_title_font);
    double row = y + 12;
    elements.add("<text class=\"p\" x=\"{:.0f}\" y=\"{:.1f}\">{}</text>", svg_left, row, escape_xml(title));
    std::vector<std::string> labels;
    double taken = -label_gap;
    for (const auto& [colour, text] : panel.labels) {
        std::string label = shortened_to(text, max_curve_label);
        if (panel.is_stacked) {
            std::ranges::replace(label, '_', ' ');  // of the name of a lane
        }
        taken += label_pixels(panel, label);
        labels.push_back(std::move(label));
    }
    const bool fits = text_pixels(title, panel_title_font) + 24 + taken <= svg_inner;
    double x = fits ? svg_width - svg_right - taken : svg_left;
    row += fits || labels.empty() ? 0 : label_row;
    for (std::size_t number = 0; number < labels.size(); ++number) {
        const auto i = panel.is_stacked ? labels.size() - 1 - number : number;
        const double width = label_pixels(panel, labels[i]);
        if (x > svg_left && x + width - label_gap > svg_width - svg_right + 1) {
            x = svg_left;
            row += label_row;
        }
        elements.add("{}<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                     label_symbol(panel, panel.labels[i].colour, x, row), x + symbol_width(panel), row,
                     escape_xml(labels[i]));
        x += width;
    }
    return row + title_room - 12;
}

double draw_mark_labels(const Figure& figure, double top, SvgElements& elements) {
    auto labels = labels_of(figure, 0);
    if (labels.empty()) {
        return top;
    }
    if (!fit(labels)) {
        labels = labels_of(figure, std::numeric_limits<std::size_t>::max());
    }
    double free_from = 0;
    for (const auto& label : labels) {
        if (label.left() >= free_from) {
            elements.add("<text class=\"a\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                         label.middle, top + mark_baseline, escape_xml(label.text));
            free_from = label.right() + mark_gap;
        }
    }
    return top + mark_row;
}

}  // namespace ziggurat::plot
