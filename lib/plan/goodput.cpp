#include "plan/goodput.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ziggurat::plan {

// A save is complete `d` seconds after its copy. If the job has M seconds between failures on average, an
// interval of length P has no failure with probability exp(-P / M). After a failure before `d`, the job
// repeats the previous interval and this one; after a later failure, only this one. A repeated interval has
// no save in the background, so its length is P' = work + blocked. Its expected time, restarts included, is
// M exp(R / M) (exp(P' / M) - 1). The sum over all cases is M exp((R + d + P') / M) (1 - exp(-P / M)).
// For d = 0, this is Daly's equation.
double log_slowdown(const FailureTimes& times, double work) {
    const double mean = times.between_failures;
    const double repeated = work + times.blocked;
    const double first = std::max(work, times.written_in_background) + times.blocked;
    return std::log(mean / work) + (times.restart + times.written_in_background + repeated) / mean +
           std::log(-std::expm1(-first / mean));
}

double productive_share(const FailureTimes& times, double work) {
    return std::exp(-log_slowdown(times, work));
}

double best_work_seconds(const FailureTimes& times, double min, double max) {
    // Golden-section search over the logarithm: the slowdown has one minimum.
    constexpr double kept = 1 / std::numbers::phi;
    constexpr double tolerance = 1e-6;
    const auto slowdown = [&](double log_work) { return log_slowdown(times, std::exp(log_work)); };
    double low = std::log(min);
    double high = std::log(max);
    double left = high - kept * (high - low);
    double right = low + kept * (high - low);
    double at_left = slowdown(left);
    double at_right = slowdown(right);
    while (high - low > tolerance) {
        if (at_left <= at_right) {
            high = right;
            right = left;
            at_right = at_left;
            left = high - kept * (high - low);
            at_left = slowdown(left);
        } else {
            low = left;
            left = right;
            at_left = at_right;
            right = low + kept * (high - low);
            at_right = slowdown(right);
        }
    }
    return std::clamp(std::exp((low + high) / 2), min, max);
}

}  // namespace ziggurat::plan
