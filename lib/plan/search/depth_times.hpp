/// Step times at the depths that were tried, and their description.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::plan {

/// Depths of both kinds, with their planned step time.
struct DepthTime {
    int prefetch = 0;
    int optimizer_prefetch = 0;
    double seconds = 0;
};

/// Returns `planned steps at 1, 2, 3, 4: 100, 95, 94, 94 %`.
///
/// For each depth of prefetch, this is the fastest step relative to the slowest of these.
std::string times_by_prefetch(const std::vector<DepthTime>& tried);

/// Returns the same for optimizer depths, at one depth of prefetch.
std::string times_by_optimizer_prefetch(const std::vector<DepthTime>& tried, int prefetch);

}  // namespace ziggurat::plan
