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

    /// 0 at `low`, 1 at `high`; outside of them what it would be.
    double place_of(double value) const;
    /// Round values within the axis, about as many as wanted: 1, 2 and 5 times powers of ten; on a short
    /// logarithmic axis also values between them.
    std::vector<Tick> ticks(int wanted) const;
};

/// From 0 to a little above `high`.
FigureAxis axis_from_zero(double high);

/// Around all values from `low` to `high`; logarithmic where they are positive and far apart.
FigureAxis axis_around(double low, double high);

/// The same, logarithmic however near they are.
///
/// \pre 0 < low <= high
FigureAxis log_axis_around(double low, double high);

}  // namespace ziggurat::plot
