/// Contents of a figure, independent of how it is drawn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plot/axis.hpp"
#include "plot/curve.hpp"
#include "plot/history.hpp"
#include "plot/x_axis.hpp"

namespace ziggurat::plot {

/// Curve of one run; in a panel with labels, of the part of a run that its label names.
struct Line {
    std::size_t colour = 0;  ///< colour index of the run or of the label
    Curve curve;
};

/// A single value, such as a validation.
struct Dot {
    std::size_t colour = 0;
    double x = 0, value = 0;
};

/// Name of a curve of a panel.
struct Label {
    std::size_t colour = 0;
    std::string text;
    bool operator==(const Label&) const = default;
};

struct Panel {
    std::string title;  ///< with the unit
    FigureAxis y = {};
    std::vector<Line> lines = {};
    std::vector<Dot> dots = {};
    std::vector<Dot> alarms = {};    ///< steps without a finite value, at the upper edge
    std::vector<Dot> peaks = {};     ///< points above the axis, at the upper edge
    std::vector<Label> labels = {};  ///< of the lines and dots; empty: each line is a run
    bool is_stacked = false;         ///< lines from bottom to top, each on top of the one before
    double height = 1;               ///< relative to the other panels
    std::string note = {};           ///< shown if there is no value to draw
};

/// Mark of an event of a run.
struct RunMark {
    MarkKind kind = MarkKind::resume;
    std::size_t colour = 0;  ///< of the run
    double x = 0;
    std::string text = {};                 ///< what happened; empty: the name of the kind says all
    std::vector<std::string> labels = {};  ///< drawn next to the mark: one of them, the longest first
};

/// A complete save of a run.
struct SaveMark {
    std::size_t colour = 0;  ///< of the run
    double x = 0;
};

/// Panels of a figure.
enum class PanelSet {
    losses,  ///< loss, losses by source, rewards
    brief,   ///< also learning rate, gradient norm, speed, utilisation, waits
    all      ///< also memory by tier, and saves
};

struct FigureStyle {
    std::int64_t max_points = 100;  ///< maximum points per line
    PanelSet contents = PanelSet::brief;
    XRange x = {};
    std::int64_t smooth = 1;  ///< number of steps in each mean of a measured curve
    bool is_log = false;      ///< logarithmic axes for loss, learning rate and gradient norm, if positive
};

struct Figure {
    std::string title;
    std::vector<std::string> runs = {};  ///< names in the legend; run i has colour i
    FigureAxis x = {};
    std::string x_label = "step";
    std::vector<Panel> panels = {};
    std::vector<RunMark> marks = {};
    std::vector<SaveMark> saves = {};  ///< complete saves
    bool has_validations = false;
    bool has_bands = false;  ///< some point represents steps of different values
    bool has_raw = false;    ///< some smoothed point is one step with a different value

    bool has(MarkKind kind) const;
};

/// Returns the printable name of a run: its folder, or its metrics file if that is not metrics.jsonl.
std::string label_of(const History& history);

/// Makes the curves of one or more runs. Pure.
///
/// For one run, stalls are split by lane, and losses by source share a panel. For several runs, there is one
/// line per run. Losses of different objectives have different units and are in different panels. A run
/// without a step in the drawn part has no line.
Figure make_figure(const std::vector<History>& histories, const FigureStyle& style);

}  // namespace ziggurat::plot
