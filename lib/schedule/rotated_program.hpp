/// Programs whose buffers in rotations have the memory of a given step.
#pragma once

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Returns the number of runs after which each buffer that the op names has the same memory again.
///
/// All members of a gather of parameters have the same period, also those that name no stash: they prepare
/// its calls together.
int period_of(const Program& program, const Op& op);

/// Returns, by buffer, the buffer whose memory it has in a run of the program, from 0.
IndexedVector<BufferId, BufferId> memory_in_run(const Program& program, int run);

/// Returns the program with the memory that its buffers have in a run, from 0.
Program rotated(const Program& program, int run);

/// Returns the number of runs before a run, at most, that have left values which it reads.
int runs_in_flight(const Program& program);

/// Micro-batches, numbered over all steps, and steps that are not skipped between two drains.
///
/// Before the first step, and up to the end, a pipeline without a flush runs a part of its steps' ops.
struct PipelineFill {
    std::int64_t first_step = 0;  ///< the pipeline was empty before it
    std::int64_t end_step = 0;    ///< the pipeline will be empty after the step before it

    /// True if the pipeline runs micro-batch `j`, counted over all steps of `microbatches` each.
    bool has(std::int64_t j, std::int64_t microbatches) const {
        return first_step * microbatches <= j && j < end_step * microbatches;
    }
    /// True if the op runs in `step`, which may precede the first step.
    bool runs(const Program& program, const Op& op, std::int64_t step) const;
};

/// True if PipelineFill::runs has the same result for both ops in every step up to the drain.
bool have_equal_steps(const Program& program, const Op& one, const Op& other);

}  // namespace ziggurat::schedule
