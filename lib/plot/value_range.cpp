#include "plot/value_range.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ziggurat::plot {
namespace {

constexpr std::size_t peak_reach = 4;      ///< points on each side that a peak is compared with
constexpr std::size_t min_points = 60;     ///< of a line; shorter lines are drawn with all peaks
constexpr double share_of_spreads = 0.99;  ///< share of points whose spread is within the axis

/// Returns the value that `share` of `values` do not exceed.
///
/// \pre `values` is not empty
double quantile(std::vector<double> values, double share) {
    const auto at = values.begin() + std::lround(share * static_cast<double>(values.size() - 1));
    std::ranges::nth_element(values, at);
    return *at;
}

/// Returns the maximum of the medians around each point. The first and the last point are their own
/// median.
double level_of(const Curve& curve) {
    double level = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < curve.size(); ++i) {
        const auto reach = std::min({peak_reach, i, curve.size() - 1 - i});
        std::vector<double> near;
        for (auto k = i - reach; k <= i + reach; ++k) {
            near.push_back(curve[k].mean);
        }
        level = std::max(level, quantile(std::move(near), 0.5));
    }
    return level;
}

void add_dots(const Panel& panel, ValueRange& range) {
    for (const auto& dot : panel.dots) {
        range.add(dot.value);
    }
}

/// Adds the spread of nearly all points of `curve`: a single step far off does not stretch the axis.
void add_spread(const Curve& curve, ValueRange& range) {
    std::vector<double> lows, highs;
    for (const auto& point : curve) {
        lows.push_back(point.low);
        highs.push_back(point.high);
    }
    range.add(quantile(std::move(lows), 1 - share_of_spreads));
    range.add(quantile(std::move(highs), share_of_spreads));
}

}  // namespace

void ValueRange::add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
}

ValueRange range_of(const Panel& panel) {
    ValueRange range;
    for (const auto& line : panel.lines) {
        for (const auto& point : line.curve) {
            range.add(point.mean);
        }
        if (!panel.is_stacked && !line.curve.empty()) {  // a stacked point has only the spread of its lane
            add_spread(line.curve, range);
        }
    }
    add_dots(panel, range);
    return range;
}

ValueRange range_without_peaks(const Panel& panel) {
    const auto whole = range_of(panel);
    ValueRange range;
    for (const auto& line : panel.lines) {
        const bool is_short = line.curve.size() < min_points;
        for (const auto& point : line.curve) {
            range.low = std::min(range.low, point.mean);
            range.high = is_short ? std::max(range.high, point.mean) : range.high;
        }
        if (!line.curve.empty()) {
            range.add(level_of(line.curve));
            add_spread(line.curve, range);
        }
    }
    add_dots(panel, range);
    return !range.is_empty() && whole.high - range.high > range.high - range.low ? range : whole;
}

}  // namespace ziggurat::plot
