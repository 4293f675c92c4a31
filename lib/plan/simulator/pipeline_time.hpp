/// Time of a pipeline whose stages run slots of known durations.
#pragma once

#include <vector>

#include "schedule/expand/pipeline_order.hpp"

namespace ziggurat::plan {

/// Seconds of a stage's work.
struct StageSlots {
    std::vector<double> forward;   ///< by chunk: one micro-batch
    std::vector<double> backward;  ///< by chunk: one micro-batch, with recomputation
    /// By chunk: deferred gradients of weights of one micro-batch, which are not in `backward`; empty if the
    /// stage defers none, because of its schedule or because no product of its layers trains a weight.
    std::vector<double> backward_weight = {};
    double others = 0;       ///< of a step, in addition to all slots: reduction, update, first fetches
    double to_next = 0;      ///< of a message to the next virtual stage
    double to_previous = 0;  ///< of a message to the previous virtual stage
};

struct PipelineTimes {
    double step_seconds = 0;
    std::vector<double> idle_seconds;  ///< by stage: of the step
};

/// Runs the slots of all stages in their order; a slot begins when the stage is free and its input has
/// arrived.
///
/// \param stages  by stage
PipelineTimes pipeline_times(const schedule::Pipeline& pipeline, const std::vector<StageSlots>& stages);

}  // namespace ziggurat::plan
