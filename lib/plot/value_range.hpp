/// Range of the values of a panel, with and without short peaks.
#pragma once

#include <limits>

#include "plot/figure.hpp"

namespace ziggurat::plot {

/// Minimum and maximum of some values.
struct ValueRange {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();

    void add(double value);
    bool is_empty() const { return low > high; }
};

/// Range of all means, of the dots, and of the spread of nearly all points. Pure.
ValueRange range_of(const Panel& panel);

/// Returns range_of() without peaks of a few points that would take more than half of it. Pure.
ValueRange range_without_peaks(const Panel& panel);

}  // namespace ziggurat::plot
