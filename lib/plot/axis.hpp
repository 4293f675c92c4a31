/// Axis of a figure: positions of values along it, and its ticks.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::plot {

struct Tick {
    double value = 0;
    std::string text;
};

/// One axis. Pure.
struct FigureAxis {
    double low = 0, high = 1;  ///< low < high; with is_log, low > 0
    bool is_log = false;
    bool is_whole = false;  ///< ticks are whole numbers

    /// Returns 0 at `low`, 1 at `high`; outside of them the extrapolated position.
    double position_of(double value) const;
    /// Returns about `wanted` round values within the axis: 1, 2 and 5 times powers of ten.
    /// A short logarithmic axis also has values between them.
    std::vector<Tick> ticks(int wanted) const;
};

/// Returns an axis from 0 to a little above `high`.
FigureAxis axis_from_zero(double high);

/// Returns an axis around all values from `low` to `high`; logarithmic if they are positive and far
/// apart.
FigureAxis axis_around(double low, double high);

/// Returns a linear axis around all values from `low` to `high`.
FigureAxis linear_axis_around(double low, double high);

/// Returns a logarithmic axis around all values from `low` to `high`, also if they are close together.
///
/// \pre 0 < low <= high
FigureAxis log_axis_around(double low, double high);

}  // namespace ziggurat::plot
