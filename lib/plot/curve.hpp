/// Curve of a few hundred points that stand for all steps of a run.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "plot/history.hpp"

namespace ziggurat::plot {

/// Some steps in a row.
struct Point {
    double step = 0;  ///< in their middle
    double mean = 0;
    double low = 0, high = 0;
};
using Curve = std::vector<Point>;

/// Contribution of a step to a curve: a value with its weight; nothing: the step has none.
struct Weighed {
    double value = 0;
    double weight = 1;
};
using ValueOf = std::function<std::optional<Weighed>(const Step&)>;

/// The steps of `history` in at most `most_points` intervals of equal length, each with the weighed mean, the
/// least and the greatest value; intervals without a value have no point. As many steps as points or fewer
/// are points of their own. Pure.
Curve make_curve(const History& history, std::int64_t most_points, const ValueOf& value_of);

/// Nats per token.
Curve loss_curve(const History& history, std::int64_t most_points);
/// Tokens per second.
Curve speed_curve(const History& history, std::int64_t most_points);
/// Share of the time that was waited for a lane, in percent; `lane` lanes.size(): for any.
Curve stall_curve(const History& history, std::int64_t most_points, std::size_t lane);
/// What lies in a tier, in units of so many bytes.
Curve memory_curve(const History& history, std::int64_t most_points, MemoryTier tier, double unit_bytes);

}  // namespace ziggurat::plot
