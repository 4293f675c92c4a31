/// Curve of a few hundred points that stand for all steps of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "plot/history.hpp"
#include "plot/x_axis.hpp"

namespace ziggurat::plot {

/// Some successive steps.
struct Point {
    double x = 0;  ///< the middle of their positions
    double mean = 0;
    double low = 0, high = 0;  ///< of the steps as they were, also where `mean` is smoothed
};
using Curve = std::vector<Point>;

/// True if the steps of the point have different values.
inline bool has_spread(const Point& point) {
    return point.low < point.high;
}
/// True if the point is one step, and its mean is that of other steps too.
inline bool is_smoothed_step(const Point& point) {
    return point.low == point.high && point.mean != point.low;
}

/// Contribution of a step to a curve: a value with its weight; nothing: the step has none.
struct Weighed {
    double value = 0;
    double weight = 1;
};
using ValueOf = std::function<std::optional<Weighed>(const Step&)>;

struct CurveStyle {
    std::int64_t most_points = 100;
    XScale x = {};
    std::int64_t smooth = 1;  ///< each mean is that of so many steps, the step and those before it
};

/// The steps of `history` in at most `most_points` intervals of equal length, each with the weighed mean, the
/// least and the greatest value; intervals without a value have no point. As many steps as points or fewer
/// are points of their own. Pure.
Curve make_curve(const History& history, const CurveStyle& style, const ValueOf& value_of);

/// Nats per token.
ValueOf loss_value();
/// Learning rate.
ValueOf lr_value();
/// Norm of the gradient before clipping.
ValueOf grad_norm_value();
/// Model FLOPs utilisation, in percent.
ValueOf mfu_value();
/// Tokens per second.
ValueOf speed_value();
/// Share of the time that was waited for a lane, in percent; `lane` lanes.size(): for any.
ValueOf stall_value(std::size_t lane);
/// Bytes in a tier, in units of `unit_bytes`.
ValueOf memory_value(MemoryTier tier, double unit_bytes);

}  // namespace ziggurat::plot
