/// Curve of a few hundred points that represent all steps of a run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "plot/history.hpp"
#include "plot/x_axis.hpp"

namespace ziggurat::plot {

/// Point of a curve: one or more consecutive steps.
struct Point {
    double x = 0;  ///< middle of the positions of the steps
    double mean = 0;
    double low = 0, high = 0;  ///< range of the unsmoothed values of the steps
};
using Curve = std::vector<Point>;

/// True if the steps of the point have different values.
inline bool has_spread(const Point& point) {
    return point.low < point.high;
}
/// True if the point is one step, and its mean includes other steps.
inline bool is_smoothed_step(const Point& point) {
    return point.low == point.high && point.mean != point.low;
}

/// Curves of the rewards of a preference objective.
enum class RewardCurve {
    chosen,
    rejected,
    margin,
    accuracy  ///< in percent
};
inline constexpr std::array<std::string_view, 4> reward_names{"chosen", "rejected", "margin", "accuracy"};

/// Returns the value of one curve.
double value_of(const Rewards& rewards, RewardCurve curve);

/// Contribution of a step to a curve: a value with its weight. An empty optional means no value.
struct WeightedValue {
    double value = 0;
    double weight = 1;
};
using ValueOf = std::function<std::optional<WeightedValue>(const Step&)>;

struct CurveStyle {
    std::int64_t max_points = 100;
    XScale x = {};
    std::int64_t smooth = 1;  ///< number of steps in each mean: the step and those before it
};

/// Returns the steps of `history` as at most `max_points` intervals of equal length. Pure.
///
/// Each point has the weighted mean, the minimum and the maximum of its interval. Intervals without a value
/// have no point. If there are at most `max_points` steps, each is a point of its own.
Curve make_curve(const History& history, const CurveStyle& style, const ValueOf& value_of);

/// Loss, in the unit of the run's objective.
ValueOf loss_value();
/// Loss of one source, by History::train_sources.
ValueOf source_loss_value(std::size_t source);
/// One of the curves of rewards.
ValueOf reward_value(RewardCurve curve);
/// Learning rate.
ValueOf lr_value();
/// Norm of the gradient before clipping.
ValueOf grad_norm_value();
/// Model FLOPs utilisation, in percent.
ValueOf mfu_value();
/// Tokens per second.
ValueOf speed_value();
/// Stall time of a lane as percent of the time; `lane` == lanes.size(): of all lanes.
ValueOf stall_value(std::size_t lane);
/// Bytes in a tier, in units of `unit_bytes`.
ValueOf memory_value(MemoryTier tier, double unit_bytes);

}  // namespace ziggurat::plot
