/// End of a step: norm, clip factor, requests and figures, alike on all ranks before states change.
#pragma once

#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/exact_sum.hpp"
#include "comm/async_sum.hpp"
#include "comm/node/node_memory.hpp"
#include "kernels/step_inputs.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"
#include "train/step/action.hpp"
#include "train/step/step_outcome.hpp"
#include "train/step/step_requests.hpp"

namespace ziggurat::train {

/// Global norm and loss as exact sums, clip factor, skip flag and the ranks' step_requests and figures,
/// in one small all-reduce.
///
/// Source:     Pascanu et al., "On the difficulty of training recurrent neural networks", 2013, algorithm 1
///             (clipping)
/// Numerics:   sums are exact, so their bits do not depend on the layout
/// Collective: over all ranks
class StepEnd {
  public:
    /// \param node         lends seats to the small all-reduce; outlives this
    /// \param num_sources  of training data; the losses of several can be split
    StepEnd(const comm::Context& world,
            comm::NodeMemory& node,
            const spec::Optimizer& optimizer,
            std::size_t num_sources);

    /// Taken along when the next exchange starts.
    StepRequests& step_requests() noexcept { return step_requests_; }

    /// Of the next step: the same on all ranks.
    void limit(const SpikeLimits& limits) noexcept { limits_ = limits; }

    /// Calls `measure` when an exchange starts, for the figures of this rank that it takes along. None:
    /// zeros.
    void take_along(std::function<void(StepFigures&)> measure) { measure_ = std::move(measure); }

    /// From now on outcome().by_source has the losses of each source, where there are several.
    ///
    /// \param source_of  the source of a sample, below num_sources; allocates nothing
    void split_losses(std::function<std::size_t(std::int64_t sample)> source_of) {
        source_of_ = std::move(source_of);
    }

    /// Sums the exact sums of squares and the losses that `op` reads, exchanges, and leaves the inputs of the
    /// step, with clip factor and skip flag, for updates. All operands are of the host. Binds the op of one
    /// program, once.
    Action bind(const schedule::Program& program, const schedule::Op& op, const state::TierMemory& memory);
    const StepOutcome& outcome() const noexcept { return outcome_; }
    /// Steps to whose exchange this rank has given its part: requests made later travel with the next one.
    std::int64_t num_started() const noexcept { return num_started_; }

  private:
    /// Memory of a micro-batch whose losses this rank makes.
    struct Microbatch {
        std::span<const float> losses;
        std::span<const std::uint8_t> mask;
        std::span<const std::int64_t> samples;
    };
    /// Words of a source: its losses, and its target tokens.
    static constexpr int words_of_source = ExactSum::num_limbs + 1;

    void start();
    void finish();
    /// Adds the losses of each sample to those of its source.
    void split(const Microbatch& microbatch);
    bool splits() const { return source_of_ != nullptr && !sources_.empty(); }

    const spec::Optimizer& optimizer_;
    std::vector<const ExactSum*> squares_;  ///< of this rank's part of the gradient
    std::vector<Microbatch> microbatches_;
    std::vector<ExactSum> sources_;  ///< losses of this rank, by source; empty: there is one source
    std::vector<std::int64_t> source_targets_;  ///< the target tokens of these
    std::function<std::size_t(std::int64_t)> source_of_ = nullptr;
    comm::AsyncSum sum_;                           ///< behind what its size depends on
    const kernels::StepInputs* inputs_ = nullptr;  ///< of the step
    kernels::StepInputs* of_updates_ = nullptr;
    SpikeLimits limits_;
    StepRequests step_requests_;
    std::function<void(StepFigures&)> measure_;
    std::int64_t num_started_ = 0;
    StepOutcome outcome_;
};

}  // namespace ziggurat::train
