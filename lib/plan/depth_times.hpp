/// Times of a step at depths that have been tried, and what is said of them.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::plan {

/// Depths of both kinds, and the step that they are planned to have.
struct DepthTime {
    int prefetch = 0;
    int optimizer_prefetch = 0;
    double seconds = 0;
};

/// `planned steps at 1, 2, 3, 4: 100, 95, 94, 94 %`: of each depth of prefetch the fastest step, beside the
/// slowest of these.
std::string times_by_prefetch(const std::vector<DepthTime>& tried);

/// The same of depths of states, at one depth of prefetch.
std::string times_by_optimizer_prefetch(const std::vector<DepthTime>& tried, int prefetch);

}  // namespace ziggurat::plan
