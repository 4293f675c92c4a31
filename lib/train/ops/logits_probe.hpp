/// Logits of tokens, for sampling.
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

/// Probe that copies the logits of one token of the micro-batch, or of some, to the host.
///
/// A program computes the losses block by block, so the logits of the micro-batch never exist as a whole.
class LogitsProbe {
  public:
    /// \param program  evaluation program; it may have no logits on this rank
    LogitsProbe(const spec::RunSpec& spec,
                const schedule::ModelLayout& model,
                const schedule::Program& program,
                const state::TierMemory& memory);

    /// Selects rows (tokens) of the next run. Call it before the run.
    ///
    /// \param count  0: no rows; at most layout::kept_logits()
    void set_rows(std::int64_t first, std::int64_t count) noexcept {
        first_row_ = first;
        rows_ = count;
    }
    /// Returns the logits of the rows after a run, [rows, vocab], on all ranks, with their factor and cap.
    ///
    /// The slices of the tensor axis are joined, and the last stage sends them to the other stages.
    ///
    /// Collective: over `world` if the model is split over the tensor axis or stages, else local
    std::span<const float> logits(const comm::Context& world);

    /// Returns true if bind() must be used for `op`.
    static bool is_watching(const schedule::Program& program, const schedule::Op& op) {
        return program.find_write(op, schedule::Role::watched) != nullptr;
    }
    /// Binds a copy of the rows that the block which `op` reads contains.
    ///
    /// This object must not move afterwards.
    ///
    /// \param stream  stream of the op's lane; must not move
    Action bind(const schedule::Program& program,
                const schedule::Op& op,
                const state::TierMemory& memory,
                const device::Stream& stream);

  private:
    /// Returns the elements of this rank's slice of a row.
    std::int64_t columns() const noexcept;
    /// Reads this rank's slices of the rows.
    void widen_own();
    void join(const comm::Context& world);

    spec::DType type_;
    kernels::LogitTransform transform_;
    std::int64_t first_ = 0;  ///< first column of this rank's logits
    bool is_cut_;             ///< the logits are split over ranks
    bool gives_;              ///< this rank contributes its logits: one replica of each slice does
    std::int64_t vocab_;
    std::int64_t first_row_ = 0, rows_ = 0;
    std::int64_t kept_rows_ = 1;               ///< rows that the program keeps
    std::span<const std::byte> rows_of_host_;  ///< in the type of the logits, including padding
    std::vector<float> logits_;                ///< [kept rows, vocab]
};

}  // namespace ziggurat::train
