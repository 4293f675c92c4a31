/// Feeder of samples into the batch buffers that programs read.
#pragma once

#include <cstdint>
#include <span>

#include "checkpoint/manifest.hpp"
#include "comm/context.hpp"
#include "data/batch.hpp"
#include "data/batch_source.hpp"
#include "spec/run_spec.hpp"
#include "train/step/batch_slots.hpp"

namespace ziggurat::train {

/// Fills the slots of a step with this rank's samples of the global batch.
class Feeder {
  public:
    /// \param source    training samples; kept
    /// \param counts    whether the targets of this rank count in the sum over all ranks
    ///                  (schedule::ModelLayout::counts_losses)
    /// \param progress  of a run that goes on: samples follow those that it was trained on, whatever the size
    ///                  of its batches was
    Feeder(const spec::RunSpec& spec,
           data::BatchSource source,
           int data_rank,
           bool counts,
           const checkpoint::TrainingProgress& progress = {});

    /// Returns the target tokens of the whole global batch. Allocates nothing.
    ///
    /// Collective: over `world` where documents may mask targets, else local
    std::int64_t fill(std::int64_t step, std::span<const BatchSlot> slots, const comm::Context& world);

    /// The source of a sample, by its place in data.train.
    std::size_t source_of(std::int64_t sample) const { return source_.source_of(sample); }

    /// Global index of the first sample of a step.
    std::int64_t first_sample(std::int64_t step) const {
        return step * spec_.train.global_batch + samples_ahead_;
    }

  private:
    const spec::RunSpec& spec_;
    data::BatchSource source_;
    data::Batch batch_;
    int data_rank_;
    bool counts_;
    std::int64_t samples_ahead_;  ///< of steps that were all as large as those now
};

/// Copies `batch` into `slot`, which has the same shape.
void copy_into(const data::Batch& batch, const BatchSlot& slot);

}  // namespace ziggurat::train
