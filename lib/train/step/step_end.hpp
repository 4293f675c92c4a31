/// End of a step: norm, clip factor and requests, alike on all ranks before states change.
#pragma once

#include <span>
#include <vector>

#include "base/exact_sum.hpp"
#include "comm/async_sum.hpp"
#include "comm/node/node_memory.hpp"
#include "kernels/step_inputs.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"
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
    /// \param node  lends seats to the small all-reduce; outlives this
    StepEnd(const comm::Context& world, comm::NodeMemory& node, const spec::Optimizer& optimizer);

    /// Taken along when the next exchange starts.
    StepRequests& step_requests() noexcept { return step_requests_; }

    /// Sums the exact sums of squares and the losses that `op` reads, exchanges, and leaves the inputs of the
    /// step, with clip factor and skip flag, for updates. All operands are of the host. Binds the op of one
    /// program, once.
    Action bind(const schedule::Program& program, const schedule::Op& op, const state::TierMemory& memory);
    const StepOutcome& outcome() const noexcept { return outcome_; }

  private:
    void start();
    void finish();

    const spec::Optimizer& optimizer_;
    comm::AsyncSum sum_;
    std::vector<const ExactSum*> squares_;         ///< of this rank's part of the gradient
    std::vector<std::span<const float>> losses_;   ///< of the micro-batches whose losses this rank makes
    const kernels::StepInputs* inputs_ = nullptr;  ///< of the step
    kernels::StepInputs* of_updates_ = nullptr;
    StepRequests step_requests_;
    StepOutcome outcome_;
};

}  // namespace ziggurat::train
