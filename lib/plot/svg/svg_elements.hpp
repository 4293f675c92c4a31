/// Builder of SVG text, and the layout that its parts share.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "plot/axis.hpp"

namespace ziggurat::plot {

/// Horizontal layout, in pixels.
inline constexpr double svg_width = 960, svg_left = 74, svg_right = 22;
inline constexpr double svg_inner = svg_width - svg_left - svg_right;

/// SVG elements, one per line.
class SvgElements {
  public:
    template <class... Arguments>
    void add(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(text_), form, std::forward<Arguments>(arguments)...);
        text_ += '\n';
    }
    /// Appends elements; `elements` is empty or ends with a line feed.
    void append(const std::string& elements) { text_ += elements; }

    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

/// Box in which the curves of a panel are drawn.
struct PanelBox {
    double top = 0, height = 0;
    const FigureAxis &x, &y;

    double at_x(double value) const { return svg_left + x.position_of(value) * svg_inner; }
    /// Returns the vertical pixel position, clamped near the box: viewers reject very large numbers.
    double at_y(double value) const {
        return top + (1 - std::clamp(y.position_of(value), -1.0, 2.0)) * height;
    }
    bool has_x(double value) const { return x.position_of(value) >= 0 && x.position_of(value) <= 1; }
    bool has_y(double value) const { return y.position_of(value) >= 0 && y.position_of(value) <= 1; }
};

}  // namespace ziggurat::plot
