/// End of a step: norm, clip factor, requests and figures, equal on all ranks before states change.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/exact_sum.hpp"
#include "comm/async_sum.hpp"
#include "comm/node/node_memory.hpp"
#include "kernels/element/preference_element.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"
#include "train/ops/action.hpp"
#include "train/step/loss_sum.hpp"
#include "train/step/step_outcome.hpp"
#include "train/step/step_requests.hpp"

namespace ziggurat::train {

/// End of a step in one small all-reduce: exact sums of global norm and loss, requests and figures.
///
/// It also computes the clip factor and the skip flag.
///
/// Source:     Pascanu et al., "On the difficulty of training recurrent neural networks", 2013, algorithm 1
///             (clipping)
/// Numerics:   sums are exact, so their bits do not depend on the layout
/// Collective: over all ranks
///
/// In a pipeline without a flush, stages end a step at different times. The ranks of a stage then agree on
/// its skip flag by a sum of their own, and the op does not wait for the sum of all ranks: poll_outcomes()
/// and take_outcome() receive it some steps later.
class StepEnd {
  public:
    /// \param node  provides shared memory for the small all-reduces; outlives this object
    StepEnd(const comm::Context& world,
            comm::NodeMemory& node,
            const spec::RunSpec& spec,
            const schedule::ModelLayout& model);

    /// Returns the requests that the next all-reduce sends.
    StepRequests& step_requests() noexcept { return step_requests_; }

    /// Sets the limits of the next step; they must be the same on all ranks.
    void limit(const SpikeLimits& limits) noexcept { limits_ = limits; }

    /// Sets a hook that measures the figures of this rank at the start of each all-reduce.
    ///
    /// Without a hook, all figures are zero.
    void add_step_end_hook(std::function<void(StepFigures&)> measure) { measure_ = std::move(measure); }

    /// Enables outcome().by_source, the losses of each source, if there are several sources.
    ///
    /// \param sources    the sources with their names
    /// \param source_of  returns the source of a sample, below num_sources; must not allocate
    void split_losses(std::vector<SourceLoss> sources,
                      std::function<std::size_t(std::int64_t sample)> source_of);

    /// Binds the step_end op of one program. Call it only once.
    ///
    /// The op adds the exact sums of squares and the losses that it reads, and reduces them over all ranks.
    /// It then writes the inputs of the step, with clip factor and skip flag, for the updates; an op that
    /// follows the updates does not. All operands are on the host.
    ///
    /// Each step switches the slots of `memory`.
    Action bind(const schedule::Program& program, const schedule::Op& op, state::TierMemory& memory);
    const StepOutcome& outcome() const noexcept { return outcome_; }
    /// Makes progress on the sums of steps that have ended. Only in a pipeline without a flush.
    void poll_outcomes();
    /// Sets outcome() to that of the next step in order, if it is known; returns true if it is.
    ///
    /// Before it returns true, limit() must be called for that step.
    bool take_outcome();
    /// Returns the number of steps whose all-reduce this rank has started. Later requests go into the next.
    std::int64_t num_started() const noexcept { return num_started_; }

  private:
    /// Memory of a micro-batch whose losses this rank computes.
    struct Microbatch {
        std::span<const float> losses;  ///< empty with a preference objective
        std::span<const std::uint8_t> mask;
        std::span<const std::int64_t> samples;  ///< of the targets
        std::span<const kernels::AnswerRows> pairs;
        std::span<const kernels::PairResult> pair_results;
    };
    /// Number of 64-bit words of a source: its losses, and its target tokens.
    static constexpr int words_of_source = ExactSum::num_limbs + 1;

    void start();
    bool poll(state::TierMemory& memory);
    /// Puts the sums of this rank, its requests and its figures into `words`.
    void put(std::span<std::int64_t> words, const ExactSum& squares, const ExactSum& losses);
    /// Sets the outcome from the sums of all ranks.
    void set_outcome(std::span<const std::int64_t> words);
    /// Writes the inputs of the updates.
    void write_inputs(bool is_skipped) const;
    /// Adds the losses and rewards of pairs; splits losses by source.
    void add_pairs(const Microbatch& microbatch, ExactSum& losses, ExactRewards& rewards);
    /// Adds the losses of each sample to those of its source.
    void split(const Microbatch& microbatch);
    bool splits() const { return !outcome_.by_source.empty(); }

    const spec::Optimizer& optimizer_;
    bool has_pairs_;
    bool has_no_flush_;
    std::int64_t rows_;  ///< sequences of a micro-batch
    std::int64_t seq_;   ///< rows of a sequence: of its losses on this rank, or of its pairs
    std::vector<const ExactSum*> squares_;  ///< sums of squares of this rank's part of the gradient
    std::vector<Microbatch> microbatches_;
    std::vector<ExactSum> sources_;  ///< losses of this rank, by source; empty: there is one source
    std::vector<std::int64_t> source_targets_;  ///< target tokens of this rank, by source
    std::function<std::size_t(std::int64_t)> source_of_ = nullptr;
    /// Sums of all ranks: of step s, sums_[s % n]. After the members that determine their size.
    std::deque<comm::AsyncSum> sums_;
    std::optional<comm::AsyncSum> stage_sum_;  ///< squares and losses; without a flush only
    ExactRewards rewards_of_rank_;
    std::int64_t num_taken_ = 0;                   ///< steps whose outcome was taken; without a flush only
    const kernels::StepInputs* inputs_ = nullptr;  ///< inputs of the step
    kernels::StepInputs* of_updates_ = nullptr;    ///< nullptr: the updates precede the op
    SpikeLimits limits_;
    StepRequests step_requests_;
    std::function<void(StepFigures&)> measure_;
    std::int64_t num_started_ = 0;
    StepOutcome outcome_;
};

}  // namespace ziggurat::train
