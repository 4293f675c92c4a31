#include "train/control/training_schedule.hpp"

#include <algorithm>

#include "base/round_up.hpp"

namespace ziggurat::train {
namespace {

std::int64_t steps_of(std::int64_t tokens, std::int64_t step_tokens) {
    return divide_up(std::max<std::int64_t>(tokens, 0), step_tokens);
}

double in_steps(std::int64_t tokens, std::int64_t step_tokens) {
    return static_cast<double>(tokens) / static_cast<double>(step_tokens);
}

}  // namespace

TrainingSchedule::TrainingSchedule(const spec::RunSpec& spec, const checkpoint::TrainingProgress& before)
    : shape_{spec.schedule},
      lr_{spec.optimizer.lr},
      step_tokens_{spec.train.global_batch * spec.data.seq},
      is_by_tokens_{spec.train.tokens > 0} {
    const auto& train = spec.train;
    end_step_ =
        is_by_tokens_ ? before.step + steps_of(train.tokens - before.tokens, step_tokens_) : train.steps;
    const auto end_tokens =
        is_by_tokens_ ? train.tokens
                      : before.tokens + std::max<std::int64_t>(end_step_ - before.step, 0) * step_tokens_;
    schedule_ = {.end_step = end_step_, .end_tokens = end_tokens};
    if (const auto& known = before.course; known.is_known()) {
        has_other_end_ = is_by_tokens_ ? end_tokens != known.end_tokens : end_step_ != known.end_step;
        const bool is_longer = is_by_tokens_ ? end_tokens > known.end_tokens : end_step_ > known.end_step;
        const bool is_finished = end_step_ <= before.step;
        schedule_.begin_step = known.begin_step;
        schedule_.begin_tokens = known.begin_tokens;
        if (shape_.when_extended == spec::WhenExtended::hold && is_longer) {
            schedule_.end_step = known.end_step;
            schedule_.end_tokens = known.end_tokens;
        } else if (shape_.when_extended == spec::WhenExtended::restart && has_other_end_ && !is_finished) {
            schedule_.begin_step = before.step;
            schedule_.begin_tokens = before.tokens;
        }
    }
}

optim::SchedulePoint TrainingSchedule::point(std::int64_t step, std::int64_t tokens) const {
    const auto by_steps = static_cast<double>(step - schedule_.begin_step);
    const auto by_tokens = in_steps(tokens - schedule_.begin_tokens, step_tokens_);
    const auto steps = is_by_tokens_ ? steps_of(schedule_.end_tokens - schedule_.begin_tokens, step_tokens_)
                                     : schedule_.end_step - schedule_.begin_step;
    return {.step = is_by_tokens_ ? by_tokens : by_steps,
            .steps = static_cast<double>(std::max<std::int64_t>(steps, 1)),
            .warmup_step = shape_.is_warmup_in_tokens ? by_tokens : by_steps};
}

double TrainingSchedule::rate(std::int64_t step, std::int64_t tokens) const {
    return optim::learning_rate(shape_, lr_, point(step, tokens));
}

checkpoint::LrScheduleState TrainingSchedule::record(std::int64_t step, std::int64_t tokens) const {
    auto record = schedule_;
    record.end_step = std::max(record.end_step, record.begin_step + 1);
    record.end_tokens = std::max(record.end_tokens, record.begin_tokens + 1);
    record.next_rate = rate(step, tokens);
    return record;
}

}  // namespace ziggurat::train
