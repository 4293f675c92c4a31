/// Rule of the schedule pipedream: the version of its weights that a stage uses for a micro-batch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// True if steps follow each other without a flush of the pipeline.
///
/// A pipeline of one stage has nothing in flight at the end of a step.
constexpr bool has_no_flush(const Parallel& parallel) {
    return parallel.pipeline_schedule == PipelineSchedule::pipedream && parallel.stages > 1;
}

/// Order and weight versions of one stage.
///
/// Micro-batches have one number j over all steps: step t has those of [t * m, (t + 1) * m). The stage runs
/// forward of j + ahead and backward of j in turn, and updates its weights after the backward of the last
/// micro-batch of a step. Version v of the weights is that after v updates. Forward and backward of a
/// micro-batch use the same version. In step t, the micro-batch j = t * m + i is `i`, counted from the step.
///
/// Source: Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training", 2019, section
///         3.3 (weight stashing); Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", 2021,
///         section 3.1 (sums over m micro-batches)
struct WeightVersions {
    std::int64_t ahead = 0;         ///< forwards that precede the backward of the first micro-batch
    std::int64_t microbatches = 1;  ///< of a step

    /// Returns the micro-batches between forward and backward while the stage runs a forward.
    constexpr std::int64_t in_flight() const { return ahead + 1; }
    /// Returns the older versions that the stage keeps. The current version is not one of them.
    constexpr std::int64_t stashes() const { return (ahead + microbatches - 1) / microbatches; }
    /// Returns by how many updates the version that backward uses is older than the current one.
    ///
    /// \param i  counted from the step whose backward runs
    constexpr std::int64_t age(std::int64_t i) const {
        return i < ahead ? (ahead - i + microbatches - 1) / microbatches : 0;
    }
    /// Returns the version that micro-batch `j` uses.
    ///
    /// \param first_step  step before which the pipeline was empty: the start of the run, or a drain
    constexpr std::int64_t version(std::int64_t j, std::int64_t first_step = 0) const {
        return std::max(first_step, j / microbatches - age(j % microbatches));
    }
};

constexpr WeightVersions weight_versions(const RunSpec& run, int stage) {
    return {has_no_flush(run.parallel) ? run.parallel.stages - 1 - stage : 0, run.train.micro_batches};
}

/// Returns the micro-batches of the order from which a step is cut.
///
/// They are those of the step, and those that the first stage runs ahead.
constexpr std::int64_t expanded_microbatches(const RunSpec& run) {
    return run.train.micro_batches + weight_versions(run, 0).ahead;
}

/// Returns the number of steps by which outcomes are later than the ends of steps on the last stage.
///
/// The first stage ends a step that many steps after the last one, and one more hides the time of the sum of
/// all ranks. 0: steps end with their outcome.
constexpr std::int64_t steps_to_outcome(const RunSpec& run) {
    return has_no_flush(run.parallel) ? weight_versions(run, 0).stashes() + 1 : 0;
}

}  // namespace ziggurat::spec
