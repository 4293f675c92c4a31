#include "optim/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/contract.hpp"

namespace ziggurat::optim {

double learning_rate(const spec::LearningRate& schedule, double base, const SchedulePoint& at) {
    ZG_EXPECTS(at.steps >= 1 && at.step >= 0 && at.warmup_step >= 0);
    ZG_EXPECTS(schedule.warmup_steps >= 0 && schedule.decay_steps >= 0);
    const double count = std::min(at.step, at.steps - 1) + 1;
    const double warmup_count = std::min(at.warmup_step, at.steps - 1) + 1;
    const auto warmup = static_cast<double>(schedule.warmup_steps);
    if (warmup_count <= warmup) {
        return base * (warmup_count / warmup);
    }
    const double f = schedule.final_fraction;
    // If the warm-up counts in other units than the schedule, it can end later or earlier than `warmup`
    // steps.
    const double x = at.steps > warmup ? std::clamp((count - warmup) / (at.steps - warmup), 0.0, 1.0) : 1.0;
    switch (schedule.kind) {
        case spec::ScheduleKind::constant:
            return base;
        case spec::ScheduleKind::linear:
            return base * (1 - (1 - f) * x);
        case spec::ScheduleKind::cosine:
            return base * (f + (1 - f) * (1 + std::cos(std::numbers::pi * x)) / 2);
        case spec::ScheduleKind::warmup_stable_decay: {
            const double decay = std::min(static_cast<double>(schedule.decay_steps), at.steps - warmup);
            const double fallen = count - (at.steps - decay);  // steps of the decay, this one included
            return fallen <= 0 ? base : base * (1 - (1 - f) * (fallen / decay));
        }
    }
    return base;
}

}  // namespace ziggurat::optim
