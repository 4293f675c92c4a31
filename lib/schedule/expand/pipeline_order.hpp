/// Order in which a pipeline stage runs forward and backward of its micro-batches.
#pragma once

#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// One forward or backward of one micro-batch through one chunk of a stage.
struct Slot {
    enum class Pass {
        forward,
        backward,         ///< gradients of inputs and of weights
        backward_input,   ///< gradients of inputs; weight gradients follow later
        backward_weight,  ///< gradients of weights
    };

    Pass pass = Pass::forward;
    int microbatch = 0;
    int chunk = 0;  ///< of the stage; spec::virtual_stage returns its place in the model

    bool operator==(const Slot&) const = default;
};

/// The shape of a pipeline.
struct Pipeline {
    spec::PipelineSchedule schedule = spec::PipelineSchedule::one_f_one_b;
    int stages = 1;
    int chunks = 1;  ///< per stage; above 1 only if interleaved, 2 if it turns back (spec::turns_back)
    int microbatches = 1;
};

/// True if the stage has slots backward_input and backward_weight instead of backward.
bool defers_weight_products(const spec::Parallel& parallel, int stage);

/// Returns the slots of `stage`. With pipedream, steps are cut out of them (no_flush_pass).
///
/// In every schedule, backward (of weights) processes the micro-batches of a chunk in ascending order. The
/// sum over micro-batches is therefore the same in all of them.
///
/// Source: GPipe: Huang et al., 2019, section 2.3 (all forwards, then all backwards). 1F1B and interleaved
/// 1F1B: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", 2021, section
/// 2.2. Zero bubble: Qi et al., "Zero Bubble Pipeline Parallelism", 2023, section 3.1, schedule ZB-H1.
///
/// \pre 0 <= stage < stages; chunks == 1 unless the schedule is interleaved, or 2 if it turns back
std::vector<Slot> pipeline_order(const Pipeline& pipeline, int stage);

/// Returns the slots of all stages.
std::vector<std::vector<Slot>> pipeline_orders(const Pipeline& pipeline);

}  // namespace ziggurat::schedule
