/// End of a step: norm, clip factor and requests, alike on all ranks before states change.
#pragma once

#include "base/exact_sum.hpp"
#include "comm/async_sum.hpp"
#include "comm/node/node_memory.hpp"
#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"
#include "spec/run_spec.hpp"
#include "train/step/batch_slots.hpp"
#include "train/step/executor.hpp"
#include "train/step/step_outcome.hpp"
#include "train/step/step_requests.hpp"

namespace ziggurat::train {

/// Global norm and loss as exact sums, clip factor, skip flag and the ranks' step_requests, in one small
/// all-reduce.
///
/// Source:     Pascanu et al., "On the difficulty of training recurrent neural networks", 2013, algorithm 1
///             (clipping)
/// Numerics:   sums are exact, so their bits do not depend on the layout (DESIGN 8)
/// Collective: over all ranks
class StepEnd {
  public:
    /// \param node     lends seats to the small all-reduce; outlives this
    /// \param squares  of this rank's part of the gradient, which norm ops have added up
    StepEnd(const comm::Context& world,
            comm::NodeMemory& node,
            const spec::Optimizer& optimizer,
            const device::Stream& stream,
            const ExactSum& squares);

    /// Taken along when the next exchange starts.
    StepRequests& step_requests() noexcept { return step_requests_; }

    /// Sums the slots' losses, exchanges, and leaves the inputs of the step, with clip factor and skip flag,
    /// in `of_updates`.
    Action action(std::span<const BatchSlot> slots,
                  const kernels::StepInputs& inputs,
                  kernels::StepInputs& of_updates);
    const StepOutcome& outcome() const noexcept { return outcome_; }

  private:
    void start(std::span<const BatchSlot> slots);
    void finish(kernels::StepInputs& of_updates);

    const spec::Optimizer& optimizer_;
    const device::Stream& stream_;
    comm::AsyncSum sum_;
    const ExactSum& squares_;
    StepRequests step_requests_;
    StepOutcome outcome_;
};

}  // namespace ziggurat::train
