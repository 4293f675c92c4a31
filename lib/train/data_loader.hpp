/// Loader of samples into the batch buffers that programs read.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/contract.hpp"
#include "checkpoint/manifest.hpp"
#include "comm/context.hpp"
#include "data/batch.hpp"
#include "data/batch_source.hpp"
#include "kernels/element/preference_element.hpp"
#include "layout/context/context_rows.hpp"
#include "schedule/rotated_program.hpp"
#include "spec/run_spec.hpp"
#include "train/step/batch_slots.hpp"

namespace ziggurat::train {

/// Sequences of a rank's micro-batch. In a cube, its tokens are of other sequences than its targets.
class RankBatch {
  public:
    RankBatch(const spec::RunSpec& spec, const BatchPart& part);

    /// Fills `slot` from `source`; allocates nothing.
    ///
    /// \param first_sample  of sequence group 0
    /// \param apart         samples from the first one of a sequence group to that of the next
    void fill(const data::BatchSource& source,
              std::int64_t first_sample,
              std::int64_t apart,
              const BatchSlot& slot);

    /// Returns the sequences of the targets.
    const data::Batch& of_targets() const noexcept { return targets_; }

  private:
    BatchPart part_;
    bool looks_up_positions_;  ///< the embedding reads the positions of its tokens; else attention does
    data::Batch targets_;
    std::optional<data::Batch> tokens_;  ///< if they differ
};

/// Fills the slots of a step with this rank's samples of the global batch.
class DataLoader {
  public:
    /// \param source      training samples
    /// \param part        sequences and positions of this rank
    /// \param counts      true if the targets of this rank count in the sum over all ranks
    ///                    (schedule::ModelLayout::counts_losses)
    /// \param progress    progress of a resumed run: its samples follow those that it was trained on, for any
    ///                    earlier batch size
    /// \param references  with a preference objective: log-probabilities of the reference model, by number of
    ///                    pair; those of a step's pairs must be known when the step is filled
    DataLoader(const spec::RunSpec& spec,
               data::BatchSource source,
               const BatchPart& part,
               bool counts,
               const checkpoint::TrainingProgress& progress = {},
               std::span<const kernels::AnswerSums> references = {});

    /// Fills `slots` with the micro-batches of a step; returns the target tokens of the whole global batch.
    ///
    /// With a preference objective, it returns the number of pairs instead.
    ///
    /// Allocates nothing.
    ///
    /// Collective: over `world` if targets can be masked (BatchSource::has_masked_targets()), else local
    std::int64_t fill(std::int64_t step, std::span<const BatchSlot> slots, const comm::Context& world);

    /// Fills the slots of a pipeline without a flush for a run of its program.
    ///
    /// The slots of micro-batches that are ahead move on to the next step. Those of forwards that the run
    /// executes are filled.
    ///
    /// \param step  of the run; runs before fill.first_step only fill the pipeline
    /// \param fill  the steps whose micro-batches exist
    /// \return the target tokens (or pairs) of the step's global batch; 0 before fill.first_step
    ///
    /// Collective: over the ranks of a stage, `stage`, if targets can be masked, else local
    std::int64_t fill_ahead(std::int64_t step,
                            const schedule::PipelineFill& fill,
                            std::span<const BatchSlot> slots,
                            const comm::Context& stage);

    /// Returns the source of a sample, as its index in data.train.
    std::size_t source_of(std::int64_t sample) const { return source_.source_of(sample); }

    /// Returns the global index of the first sample of a step.
    std::int64_t first_sample(std::int64_t step) const {
        return step * spec_.train.global_batch + samples_ahead_;
    }

  private:
    /// Fills the slot of a micro-batch; returns the targets that it has on this rank.
    std::int64_t fill_slot(std::int64_t step, std::int64_t microbatch, const BatchSlot& slot);
    /// Returns the targets of a step on all ranks, from those that `mine` counts.
    std::int64_t all_targets(std::int64_t mine, const comm::Context& ranks);
    void put_references(const BatchSlot& slot) const;

    const spec::RunSpec& spec_;
    data::BatchSource source_;
    RankBatch batch_;
    BatchPart part_;
    bool counts_;
    /// Added to step * global_batch to obtain the first sample; nonzero after a change of the batch size.
    std::int64_t samples_ahead_;
    std::span<const kernels::AnswerSums> references_;
    std::vector<std::int64_t> targets_ahead_;  ///< by slot of fill_ahead(): targets on this rank
};

/// Returns the log-probabilities of the reference model for a pair. \pre they are known
inline const kernels::AnswerSums& known_score(std::span<const kernels::AnswerSums> references,
                                              std::int64_t pair) {
    const auto& score = references[pair];
    ZG_EXPECTS(!std::isnan(score.chosen));
    return score;
}

/// Copies `batch` into `slot`, which has the same sequences, but of each only `positions`.
void copy_into(const data::Batch& batch, const BatchSlot& slot, const layout::ContextRows& positions);

}  // namespace ziggurat::train
