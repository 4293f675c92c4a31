/// Logits of one token, for sampling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/context.hpp"
#include "device/stream.hpp"
#include "kernels/element/cross_entropy_element.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"
#include "train/ops/action.hpp"

namespace ziggurat::train {

/// Probe that copies the logits of one token of the micro-batch to the host.
///
/// A program computes the losses block by block, so the logits of the micro-batch never exist as a whole.
class LogitsProbe {
  public:
    /// \param program  evaluation program; it may have no logits on this rank
    LogitsProbe(const spec::RunSpec& spec,
                const schedule::ModelLayout& model,
                const schedule::Program& program,
                const state::TierMemory& memory);

    /// Selects the row (token) of the next run. Call it before the run.
    void set_row(std::int64_t row) noexcept { row_ = row; }
    /// Returns the logits of the row after a run, [vocab], on all ranks, with their factor and their cap.
    ///
    /// The slices of the tensor axis are joined, and the last stage sends them to the other stages.
    ///
    /// Collective: over `world` if the model is split over the tensor axis or stages, else local
    std::span<const float> logits(const comm::Context& world);

    /// Returns true if bind() must be used for `op`.
    static bool is_watching(const schedule::Program& program, const schedule::Op& op) {
        return program.find_write(op, schedule::Role::watched) != nullptr;
    }
    /// Binds a copy of the row, which runs if the block that `op` reads contains the row.
    ///
    /// This object must not move afterwards.
    ///
    /// \param stream  stream of the op's lane; must not move
    Action bind(const schedule::Program& program,
                const schedule::Op& op,
                const state::TierMemory& memory,
                const device::Stream& stream);

  private:
    void join(const comm::Context& world);

    spec::DType type_;
    kernels::LogitTransform transform_;
    std::int64_t first_ = 0;  ///< first column of this rank's logits
    bool is_cut_;             ///< the logits are split over ranks
    bool gives_;              ///< this rank contributes its logits: one replica of each slice does
    std::int64_t row_ = -1;
    std::span<const std::byte> row_of_host_;  ///< in the type of the logits, including padding
    std::vector<float> logits_;
};

}  // namespace ziggurat::train
