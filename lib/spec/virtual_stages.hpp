/// Placement of virtual stages: which stage of a pipeline has which chunk of the model.
#pragma once

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// True if stage s of S has the virtual stages s and 2S - 1 - s: there and back again.
///
/// Schedules zero_bubble_v and zero_bubble_v_half do so. Stage 0 then has both ends of the model. Otherwise
/// stage s has s, s + S, s + 2S and so on.
///
/// Source: Qi et al., "Pipeline Parallelism with Controllable Memory", 2024, section 3.
constexpr bool turns_back(PipelineSchedule schedule, int chunks) {
    return schedule == PipelineSchedule::zero_bubble_half ||
           (schedule == PipelineSchedule::zero_bubble && chunks == 2);
}

constexpr bool turns_back(const Parallel& parallel) {
    return turns_back(parallel.pipeline_schedule, parallel.chunks_per_stage);
}

/// True if backward is split into gradients of inputs and of weights, so that the latter can wait.
constexpr bool splits_backward(PipelineSchedule schedule) {
    return schedule == PipelineSchedule::zero_bubble || schedule == PipelineSchedule::zero_bubble_half;
}

/// Returns the stage that has virtual stage `v` as its chunk v / stages.
constexpr int stage_of(int v, int stages, bool turns_back) {
    return turns_back && v >= stages ? 2 * stages - 1 - v : v % stages;
}

constexpr int stage_of(int v, const Parallel& parallel) {
    return stage_of(v, parallel.stages, turns_back(parallel));
}

/// Returns the virtual stage that is `chunk` of `stage`.
constexpr int virtual_stage(int stage, int chunk, int stages, bool turns_back) {
    return turns_back && chunk == 1 ? 2 * stages - 1 - stage : chunk * stages + stage;
}

constexpr int virtual_stage(int stage, int chunk, const Parallel& parallel) {
    return virtual_stage(stage, chunk, parallel.stages, turns_back(parallel));
}

/// Returns the stage of the head.
constexpr int last_stage(const Parallel& parallel) {
    return stage_of(parallel.stages * parallel.chunks_per_stage - 1, parallel);
}

}  // namespace ziggurat::spec
