/// Course of a training: where it ends, and the learning rate of each step.
#pragma once

#include <cstdint>

#include "checkpoint/manifest.hpp"
#include "optim/learning_rate.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

/// A run by steps ends after so many, a run by tokens with the step that consumes the last of them, whatever
/// its batches were before. So does the schedule: what the deck says in tokens follows tokens, all else
/// steps.
///
/// Collective: local; the same on all ranks
class TrainingCourse {
  public:
    /// \param before  of the checkpoint that the run goes on from; none: it begins
    explicit TrainingCourse(const spec::RunSpec& spec, const checkpoint::TrainingProgress& before = {});

    /// Steps of the whole run, those before the checkpoint too.
    std::int64_t end_step() const noexcept { return end_step_; }
    /// The run ends elsewhere than the schedule of the checkpoint did.
    bool has_other_end() const noexcept { return has_other_end_; }
    /// The last step of the schedule; what comes behind it keeps its learning rate.
    std::int64_t schedule_end_step() const noexcept { return schedule_.end_step; }

    /// Of the step behind `step` steps and `tokens` tokens.
    double rate(std::int64_t step, std::int64_t tokens) const;

    /// For a checkpoint behind these.
    checkpoint::Course record(std::int64_t step, std::int64_t tokens) const;

  private:
    optim::SchedulePoint point(std::int64_t step, std::int64_t tokens) const;

    spec::LearningRate shape_;
    double lr_;
    std::int64_t step_tokens_;
    bool is_by_tokens_;
    std::int64_t end_step_ = 0;
    bool has_other_end_ = false;
    checkpoint::Course schedule_;  ///< without next_rate
};

}  // namespace ziggurat::train
