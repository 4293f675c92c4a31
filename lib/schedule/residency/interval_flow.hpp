/// Packing of weighted intervals into a capacity that depends on the position.
#pragma once

#include <cstdint>
#include <vector>

namespace ziggurat::schedule {

/// Interval of steps [begin, end) that needs `size` of the capacity of each, and has a value.
struct WeightedInterval {
    int begin = 0;
    int end = 0;  ///< above begin
    std::int64_t size = 0;
    std::int64_t value = 0;
};

/// Returns the size of each interval in the packing with the largest value, if intervals are divisible.
///
/// If all sizes and capacities are multiples of one number, so is the result: intervals of equal size are
/// then packed completely or not at all.
///
/// The packing is a flow of minimum cost from the first step to the last. It passes a step over the intervals
/// that contain it, and over an arc for the rest. Shortest paths augment the flow; the time is that of one
/// search for each augmentation.
///
/// Source: Arkin and Silverberg, "Scheduling jobs with fixed start and end times", 1987; Edmonds and Karp,
///         "Theoretical improvements in algorithmic efficiency for network flow problems", 1972
///
/// \param capacity  by step
std::vector<std::int64_t> pack_intervals(const std::vector<WeightedInterval>& intervals,
                                         const std::vector<std::int64_t>& capacity);

}  // namespace ziggurat::schedule
