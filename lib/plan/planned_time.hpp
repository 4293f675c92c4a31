/// Planned time of a step: how long it takes, and what its time consists of.
#pragma once

#include <string>
#include <vector>

#include "plan/simulator/stage_time.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Time of the stages of one kind.
struct PlannedStageTime {
    int stage = 0;   ///< the first of its kind
    int stages = 0;  ///< number of stages of this kind
    StageTime time;
    double idle_seconds = 0;  ///< waits for other stages
};

struct PlannedTime {
    double step_seconds = 0;
    std::vector<PlannedStageTime> stages;
    int slowest = 0;  ///< index of the stage with the minimum of idle time
    PipelineTimes pipeline;

    /// Returns the stage that bounds the step.
    const PlannedStageTime& bound() const { return stages.at(static_cast<std::size_t>(slowest)); }
};

/// Plans the time of a step.
///
/// One rank of each kind of stage is simulated; stages run against each other slot by slot. Ranks of one
/// stage are assumed to take the same time.
PlannedTime planned_time(const spec::RunSpec& spec, const spec::MachineSpec& machine);

/// Returns the seconds of a step that repeats its speculative updates, because the gradient is clipped.
///
/// 0 if no updates are speculative.
double redone_step_seconds(const spec::RunSpec& spec, const spec::MachineSpec& machine);

/// Runs the stages of a run against each other.
///
/// \param stages  by stage, with the bytes of messages in place of their seconds, as stage_time returns them
PipelineTimes pipeline_of(const spec::RunSpec& spec, std::vector<StageSlots> stages, const Rates& rates);

/// Returns the seconds of a step from a simulation of the programs of all ranks, op by op.
///
/// It takes a time and memory that grow with ranks, layers and micro-batches: for small runs.
double simulated_step_seconds(const spec::RunSpec& spec, const spec::MachineSpec& machine);

}  // namespace ziggurat::plan
