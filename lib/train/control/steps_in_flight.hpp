/// Steps that were run and whose outcomes are not known yet, and the requests that wait for a drain.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/rotated_program.hpp"
#include "spec/run_spec.hpp"
#include "train/account/step_report.hpp"
#include "train/step/step_requests.hpp"

namespace ziggurat::train {

/// A step that was run, until its outcome is known.
struct RunStep {
    StepReport report = {};
    std::int64_t targets = 0;
    double seconds = 0;
};

/// Steps of a training loop between their run and their outcome.
///
/// With a flush between steps, a step ends with its outcome and no request waits. Without one, outcomes come
/// up to spec::steps_to_outcome() steps later, and the whole state exists only when the pipeline is drained.
class StepsInFlight {
  public:
    /// \param fill  borrowed: when the pipeline is drained
    /// \param step  done before the first step
    StepsInFlight(const spec::RunSpec& run, const schedule::PipelineFill& fill, std::int64_t step);

    /// Returns the steps that were run.
    std::int64_t begun() const { return begun_; }
    /// Begins the step that follows. Allocates nothing.
    RunStep& begin();
    /// Notes that the step which begin() has returned was run.
    void ran() { ++begun_; }
    /// Returns the oldest step, whose outcome is known.
    RunStep end();
    /// Notes that the step which end() has returned was abandoned, so that it is run again.
    void abandon() { --begun_; }
    /// Returns the targets of the oldest step.
    std::int64_t oldest_targets() const { return steps_.front().targets; }

    /// True if the oldest step must end before the next one begins.
    bool has_due() const;
    /// True if no micro-batch of a later step is in flight; always with a flush between steps.
    bool is_drained() const { return has_flush_ || begun_ >= fill_.end_step; }
    /// True if the outcomes of all steps are known too, so that the state can be saved.
    bool is_between_steps() const { return steps_.empty() && is_drained(); }

    /// Returns the requests to handle after a step that ended; others wait for a drained pipeline.
    ///
    /// \param agreed  requests of all ranks in the outcome of the step
    /// \param step    that ended
    StepRequests due(const StepRequests& agreed, std::int64_t step);
    /// True if a request waits.
    bool has_waiting() const;
    /// Returns the step before which a pipeline that must be drained soon is empty.
    std::int64_t soonest_end() const { return begun_ + stashes_; }
    /// Notes that a save began or ended: steps that were run before have reports of the save before it.
    void save_changed() { fresh_reports_from_ = begun_; }

  private:
    const schedule::PipelineFill& fill_;
    bool has_flush_;
    std::int64_t to_outcome_;
    std::int64_t stashes_;  ///< of the first stage: steps to which forwards that have run belong
    std::int64_t begun_;
    std::vector<RunStep> steps_;
    StepRequests waiting_;
    std::int64_t fresh_reports_from_ = 0;
};

}  // namespace ziggurat::train
