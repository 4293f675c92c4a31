/// Maker of the panels of a figure: curves of each run, with axes that fit them.
#pragma once

#include <string>
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

    Panel loss() const;
    /// Learning rate. It is not smoothed, because a schedule has no noise.
    Panel lr() const;
    Panel grad_norm() const;
    Panel speed() const;
    /// Model FLOPs utilisation.
    Panel mfu() const;
    /// Stalls: for one run by lane, for several runs in total.
    Panel stalls() const;
    Panel memory(MemoryTier tier) const;

  private:
    CurveStyle curve_style(std::int64_t smooth) const { return {style_.max_points, x_, smooth}; }
    /// Makes one line per run that has such a value.
    Panel of_runs(std::string title, double height, const ValueOf& value, std::int64_t smooth) const;
    Panel stacked_stalls(const History& history) const;
    void fit(Panel& panel) const;

    const std::vector<History>& histories_;
    const FigureStyle& style_;
    const XScale& x_;
};

}  // namespace ziggurat::plot
