/// Maker of the panels of a figure: curves of each run, with axes that fit them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plot/figure.hpp"
#include "plot/history.hpp"
#include "plot/x_axis.hpp"

namespace ziggurat::plot {

/// Maker of the panels of one figure, from the part of each run that is drawn.
///
/// Ownership: borrows its arguments.
class PanelMaker {
  public:
    PanelMaker(const std::vector<History>& histories, const FigureStyle& style, const XScale& x)
        : histories_{histories}, style_{style}, x_{x} {}

    /// Learning rate. It is not smoothed, because a schedule has no noise.
    Panel lr() const;
    Panel grad_norm() const;
    Panel speed() const;
    /// Model FLOPs utilisation.
    Panel mfu() const;
    /// Stalls: for one run by lane, for several runs in total.
    Panel stalls() const;
    Panel memory(MemoryTier tier) const;

    /// Makes one line per run that has such a value, without an axis.
    Panel of_runs(std::string title, double height, const ValueOf& value) const {
        return of_runs(std::move(title), height, value, style_.smooth);
    }
    /// Returns a curve of one run.
    Curve curve(const History& history, const ValueOf& value) const {
        return make_curve(history, curve_style(style_.smooth), value);
    }
    /// Returns the title with the number of smoothed steps.
    std::string title(std::string text) const;
    /// Sets the axis of `panel` around its values.
    ///
    /// A few points far above all others do not stretch a linear axis: they are marked at its upper edge.
    void fit(Panel& panel) const;
    /// Same with a linear axis, also for values that are far apart.
    static void fit_linear(Panel& panel);

    const std::vector<History>& histories() const { return histories_; }
    const XScale& x() const { return x_; }

  private:
    CurveStyle curve_style(std::int64_t smooth) const { return {style_.max_points, x_, smooth}; }
    Panel of_runs(std::string title, double height, const ValueOf& value, std::int64_t smooth) const;
    Panel stacked_stalls(const History& history) const;

    const std::vector<History>& histories_;
    const FigureStyle& style_;
    const XScale& x_;
};

}  // namespace ziggurat::plot
