/// Contents of a figure, before it is known how it is drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plot/axis.hpp"
#include "plot/curve.hpp"
#include "plot/history.hpp"
#include "plot/x_axis.hpp"

namespace ziggurat::plot {

/// A curve of one run; in a stacked panel, of one lane, standing on those before it.
struct Line {
    std::size_t colour = 0;  ///< of the run, or of the lane
    Curve curve;
};

/// A single value, such as a validation.
struct Dot {
    std::size_t colour = 0;
    double x = 0, value = 0;
};

struct Panel {
    std::string title;  ///< with the unit
    FigureAxis y = {};
    std::vector<Line> lines = {};
    std::vector<Dot> dots = {};
    std::vector<Dot> alarms = {};          ///< steps without a finite value, at the upper edge
    std::vector<Dot> peaks = {};           ///< points above the axis, at the upper edge
    std::vector<std::string> labels = {};  ///< of the lines; empty: each is a run
    bool is_stacked = false;               ///< lines from bottom to top, each on the one before
    double height = 1;                     ///< relative to the other panels
    std::string note = {};                 ///< shown if there is no value to draw
};

/// Mark of an event of a run.
struct RunMark {
    MarkKind kind = MarkKind::resume;
    std::size_t colour = 0;  ///< of the run
    double x = 0;
};

/// A complete save of a run.
struct SaveMark {
    std::size_t colour = 0;  ///< of the run
    double x = 0;
};

/// Panels of a figure.
enum class Contents {
    brief,  ///< loss, learning rate, gradient norm, speed, utilisation, waits
    all     ///< also memory by tier, and saves
};

struct FigureStyle {
    std::int64_t most_points = 100;  ///< of a line
    Contents contents = Contents::brief;
    XRange x = {};
    std::int64_t smooth = 1;  ///< measured curves are means of so many steps
    bool is_log = false;  ///< loss, learning rate and gradient norm are logarithmic where they are positive
};

struct Figure {
    std::string title;
    std::vector<std::string> runs = {};  ///< as the legend calls them; run i has colour i
    FigureAxis x = {};
    std::string x_label = "step";
    std::vector<Panel> panels = {};
    std::vector<RunMark> marks = {};
    std::vector<SaveMark> saves = {};  ///< that are complete
    bool has_validations = false;
    bool has_bands = false;  ///< some point stands for steps of different values
    bool has_raw = false;    ///< some smoothed point stands for one step of another value

    bool has(MarkKind kind) const;
};

/// What a run is called beside others: the folder that its metrics lie in, or their file where that has
/// another name. Printable.
std::string label_of(const History& history);

/// Curves of some runs, one or more. Of one run, the lanes that it waited for are told apart; of several,
/// there is one line for each. A run without a step in the part that is drawn has no line. Pure.
Figure make_figure(const std::vector<History>& histories, const FigureStyle& style);

}  // namespace ziggurat::plot
