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
    std::vector<Dot> alarms = {};          ///< steps without a finite value, at the upper edge
    std::vector<std::string> labels = {};  ///< of the lines; empty: each is a run
    bool is_stacked = false;               ///< lines from bottom to top, each on the one before
    double height = 1;                     ///< beside those of the others
};

/// A step of a run at which something happened.
struct RunMark {
    std::size_t colour = 0;
    double step = 0;
};

/// Panels of a figure.
enum class Contents {
    brief,  ///< loss, speed, waits
    all     ///< also memory by tier, and saves
};

struct Figure {
    std::string title;
    std::vector<std::string> runs = {};  ///< as the legend calls them; run i has colour i
    FigureAxis x = {};                   ///< steps
    std::vector<Panel> panels = {};
    std::vector<RunMark> restarts = {};
    std::vector<RunMark> saves = {};  ///< that are complete
    bool has_validations = false;
};

/// What a run is called beside others: the folder that its metrics lie in, or their file where that has
/// another name. Printable.
std::string label_of(const History& history);

/// Curves of some runs, one or more. A line has at most `most_points` points. Of one run, the lanes that it
/// waited for are told apart; of several, there is one line for each. Pure.
Figure make_figure(const std::vector<History>& histories,
                   std::int64_t most_points,
                   Contents contents = Contents::brief);

}  // namespace ziggurat::plot
