#include "plan/search/depth_times.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace ziggurat::plan {
namespace {

std::string describe(const std::map<int, double>& seconds_of_depth) {
    double max = 0;
    for (const auto& [depth, seconds] : seconds_of_depth) {
        max = std::max(max, seconds);
    }
    std::vector<std::string> depths, shares;
    for (const auto& [depth, seconds] : seconds_of_depth) {
        depths.push_back(fmt::format("{}", depth));
        shares.push_back(fmt::format("{:.0f}", 100 * seconds / max));
    }
    return fmt::format("planned steps at {}: {} %", fmt::join(depths, ", "), fmt::join(shares, ", "));
}

}  // namespace

std::string times_by_prefetch(const std::vector<DepthTime>& tried) {
    std::map<int, double> min;
    for (const auto& ahead : tried) {
        const auto [known, is_new] = min.try_emplace(ahead.prefetch, ahead.seconds);
        known->second = std::min(known->second, ahead.seconds);
    }
    return describe(min);
}

std::string times_by_optimizer_prefetch(const std::vector<DepthTime>& tried, int prefetch) {
    std::map<int, double> seconds;
    for (const auto& ahead : tried) {
        if (ahead.prefetch == prefetch) {
            seconds[ahead.optimizer_prefetch] = ahead.seconds;
        }
    }
    return describe(seconds);
}

}  // namespace ziggurat::plan
