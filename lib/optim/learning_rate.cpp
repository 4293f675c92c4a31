#include "optim/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/contract.hpp"

namespace ziggurat::optim {

double learning_rate(const spec::LearningRate& schedule, double base, std::int64_t steps, std::int64_t step) {
    ZG_EXPECTS(steps >= 1 && step >= 0 && schedule.warmup_steps >= 0 && schedule.decay_steps >= 0);
    const std::int64_t count = std::min(step, steps - 1) + 1;
    const std::int64_t warmup = schedule.warmup_steps;
    const auto ratio = [](std::int64_t part, std::int64_t whole) {
        return static_cast<double>(part) / static_cast<double>(whole);
    };
    if (count <= warmup) {
        return base * ratio(count, warmup);
    }
    const double f = schedule.final_fraction;
    const double x = ratio(count - warmup, steps - warmup);
    switch (schedule.kind) {
        case spec::ScheduleKind::constant:
            return base;
        case spec::ScheduleKind::linear:
            return base * (1 - (1 - f) * x);
        case spec::ScheduleKind::cosine:
            return base * (f + (1 - f) * (1 + std::cos(std::numbers::pi * x)) / 2);
        case spec::ScheduleKind::warmup_stable_decay: {
            const std::int64_t decay = std::min(schedule.decay_steps, steps - warmup);
            const std::int64_t fallen = count - (steps - decay);  // steps of the decay, this one included
            return fallen <= 0 ? base : base * (1 - (1 - f) * ratio(fallen, decay));
        }
    }
    return base;
}

}  // namespace ziggurat::optim
