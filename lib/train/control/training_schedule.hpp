/// Progress schedule of a training: its last step, and the learning rate of each step.
#pragma once

#include <cstdint>

#include "checkpoint/manifest.hpp"
#include "optim/learning_rate.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

/// End and learning-rate schedule of a run.
///
/// A run with train.steps ends after that number of steps. A run with train.tokens ends with the step that
/// consumes the last token, even if earlier batches had other sizes. The schedule follows the same rule:
/// values that the deck gives in tokens count tokens, all other values count steps.
///
/// Collective: local; the same on all ranks
class TrainingSchedule {
  public:
    /// \param before  progress of the checkpoint from which the run resumes; default: the run starts
    explicit TrainingSchedule(const spec::RunSpec& spec, const checkpoint::TrainingProgress& before = {});

    /// Returns the last step of the run. The count includes the steps before the checkpoint.
    std::int64_t end_step() const noexcept { return end_step_; }
    /// Returns true if the run ends at another step or token count than the schedule of the checkpoint.
    bool has_other_end() const noexcept { return has_other_end_; }
    /// Returns the last step of the schedule. Later steps keep its learning rate.
    std::int64_t schedule_end_step() const noexcept { return schedule_.end_step; }

    /// Returns the learning rate of the step that follows `step` steps and `tokens` tokens.
    double rate(std::int64_t step, std::int64_t tokens) const;

    /// Returns the schedule state for a checkpoint after `step` steps and `tokens` tokens.
    checkpoint::LrScheduleState record(std::int64_t step, std::int64_t tokens) const;

  private:
    optim::SchedulePoint point(std::int64_t step, std::int64_t tokens) const;

    spec::LearningRate shape_;
    double lr_;
    std::int64_t step_tokens_;
    bool is_by_tokens_;
    std::int64_t end_step_ = 0;
    bool has_other_end_ = false;
    checkpoint::LrScheduleState schedule_;  ///< without next_rate
};

}  // namespace ziggurat::train
