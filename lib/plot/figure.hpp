/// Contents of a figure, before it is known how it is drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plot/axis.hpp"
#include "plot/curve.hpp"
#include "plot/history.hpp"

namespace ziggurat::plot {

/// A curve of one run; in a stacked panel, of one lane, standing on those before it.
struct Line {
    std::size_t colour = 0;  ///< of the run, or of the lane
    Curve curve;
};

/// A single value, such as a validation.
struct Dot {
    std::size_t colour = 0;
    double step = 0, value = 0;
};

struct Panel {
    std::string title;  ///< with the unit
    FigureAxis y = {};
    std::vector<Line> lines = {};
    std::vector<Dot> dots = {};
    std::vector<Dot> alarms = {};  ///< steps without a finite value, at the upper edge
    /// Lanes from bottom to top, each on the one before; empty: lines of runs beside each other.
    std::vector<std::string> stacked = {};
    double height = 1;  ///< beside those of the others
};

struct Restart {
    std::size_t colour = 0;
    double step = 0;
};

struct Figure {
    std::string title;
    std::vector<std::string> runs = {};  ///< as the legend calls them; run i has colour i
    FigureAxis x = {};                   ///< steps
    std::vector<Panel> panels = {};
    std::vector<Restart> restarts = {};
    bool has_validations = false;
};

/// Loss, speed and waits of some runs, one or more. A line has at most `most_points` points. Of one run, the
/// lanes that it waited for are told apart; of several, there is one line for each. Pure.
Figure make_figure(const std::vector<History>& histories, std::int64_t most_points);

}  // namespace ziggurat::plot
