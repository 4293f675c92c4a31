#include "plot/svg/svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plot/svg/svg_elements.hpp"
#include "plot/svg/svg_labels.hpp"
#include "plot/svg/svg_legend.hpp"
#include "plot/svg/svg_panel.hpp"
#include "plot/svg/svg_text.hpp"

namespace ziggurat::plot {
namespace {

constexpr double title_row = 28, legend_below_title = 24, panels_below_legend = 16;
constexpr double panel_gap = 22, unit_height = 130;
constexpr double ticks_below = 18;  ///< distance of the ticks' baseline from the box above them
constexpr double label_below = 38, foot = 50;
constexpr double line_height = 15;     ///< of a text and the room around it
constexpr double pixels_of_tick = 20;  ///< minimum distance of the ticks of a panel
constexpr int ticks_across = 8;

class Drawing {
  public:
    Drawing(const Figure& figure, ColorScheme scheme) : figure_{figure}, scheme_{scheme} {}

    std::string draw() {
        const auto title = shortened_to(figure_.title, svg_inner, title_font);
        if (!title.empty()) {
            elements_.add("<text class=\"t\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text>", svg_left, title_row,
                          escape_xml(title));
        }
        const double first_row = title.empty() ? legend_below_title : title_row + legend_below_title;
        double y = draw_legend(figure_, first_row, elements_) + panels_below_legend;
        double bottom = y;
        for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
            const auto& panel = figure_.panels[i];
            const double below_title = draw_panel_title(panel, y, elements_);
            const double top = i == 0 ? draw_mark_labels(figure_, below_title, elements_) : below_title;
            const PanelBox box{top, panel.height * unit_height, figure_.x, panel.y};
            draw_grid(panel, box);
            draw_panel(figure_, i, box, elements_);
            bottom = box.top + box.height;
            y = bottom + panel_gap;
            if (i == 0 && figure_.panels.size() > 2) {  // the last panel is far from the first
                draw_x_ticks(bottom);
                y += ticks_below;
            }
        }
        draw_x_ticks(bottom);
        elements_.add("<text class=\"a\" x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>",
                      svg_left + svg_inner / 2, bottom + label_below, figure_.x_label);
        return fmt::format(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
            "viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n"
            "<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n{4}</svg>\n",
            svg_width, bottom + foot, figure_.title.empty() ? "curves" : escape_xml(figure_.title),
            style_sheet(scheme_), elements_.text());
    }

  private:
    /// Draws lines at the ticks with their values, without values too close to the previous one.
    void draw_grid(const Panel& panel, const PanelBox& box) {
        for (const auto& tick : figure_.x.ticks(ticks_across)) {
            elements_.add("<path class=\"g\" d=\"M{:.1f} {:.1f}v{:.1f}\"/>", box.at_x(tick.value), box.top,
                          box.height);
        }
        if (panel.lines.empty() && panel.dots.empty()) {
            return;
        }
        double free_below = std::numeric_limits<double>::infinity();
        const int wanted = std::clamp(static_cast<int>(std::lround(box.height / pixels_of_tick)), 3, 9);
        for (const auto& tick : panel.y.ticks(wanted)) {
            const double y = box.at_y(tick.value);
            if (y < free_below) {
                elements_.add("<path class=\"g\" d=\"M{:.1f} {:.1f}h{:.1f}\"/>", svg_left, y, svg_inner);
                elements_.add("<text class=\"a\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>",
                              svg_left - 8, y + 4, tick.text);
                free_below = y - line_height;
            }
        }
    }

    /// Draws the values of the horizontal axis below a box that ends at `bottom`.
    void draw_x_ticks(double bottom) {
        double free_from = 0;
        for (const auto& tick : figure_.x.ticks(ticks_across)) {
            const double half = text_pixels(tick.text) / 2;
            const double x =
                std::min(svg_left + figure_.x.position_of(tick.value) * svg_inner, svg_width - half);
            if (x - half >= free_from) {
                elements_.add("<text class=\"a\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                              x, bottom + ticks_below, tick.text);
                free_from = x + half;
            }
        }
    }

    const Figure& figure_;
    ColorScheme scheme_;
    SvgElements elements_;
};

}  // namespace

std::string svg(const Figure& figure, ColorScheme scheme) {
    return Drawing{figure, scheme}.draw();
}

}  // namespace ziggurat::plot
