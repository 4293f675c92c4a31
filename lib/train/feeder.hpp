/// Brings samples into the memory that programs read.
#pragma once

#include <cstdint>
#include <span>

#include "comm/communicator.hpp"
#include "data/batch.hpp"
#include "data/batch_source.hpp"
#include "spec/run_spec.hpp"
#include "train/assembly.hpp"

namespace ziggurat::train {

/// Fills the slots of a step with this rank's samples of the global batch.
class Feeder {
  public:
    /// \param source  training samples; kept
    Feeder(const spec::RunSpec& spec, data::BatchSource source, int data_rank);

    /// Returns the target tokens of the whole global batch. Allocates nothing.
    ///
    /// Collective: over `world` where documents may mask targets, else local
    std::int64_t fill(std::int64_t step, std::span<const BatchSlot> slots, const comm::Communicator& world);

  private:
    const spec::RunSpec& spec_;
    data::BatchSource source_;
    data::Batch batch_;
    int data_rank_;
};

/// Copies `batch` into `slot`, which has the same shape.
void copy_into(const data::Batch& batch, const BatchSlot& slot);

}  // namespace ziggurat::train
