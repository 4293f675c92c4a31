/// Logits of one token, for sampling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/context.hpp"
#include "device/stream.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"
#include "state/tier_memory.hpp"
#include "train/step/action.hpp"

namespace ziggurat::train {

/// Brings the logits of one token of the micro-batch to the host, from which a program makes its losses block
/// by block.
class LogitsWatch {
  public:
    /// \param program  evaluates; may have no logits on this rank
    LogitsWatch(const spec::RunSpec& spec,
                const schedule::ModelLayout& model,
                const schedule::Program& program,
                const state::TierMemory& memory);

    /// To be said before a run.
    void set_row(std::int64_t row) noexcept { row_ = row; }
    /// After a run: those of the row, [vocab], on all ranks: slices of the tensor axis joined, and handed on
    /// by the last stage.
    ///
    /// Collective: over `world`, where the model is cut over the tensor axis or stages, else local
    std::span<const float> logits(const comm::Context& world);

    /// Whether `op` is one for bind().
    static bool is_watching(const schedule::Program& program, const schedule::Op& op) {
        return program.find_write(op, schedule::Role::watched) != nullptr;
    }
    /// A copy of the row, if it is one of those of the block that `op` reads. This watch stays where it is
    /// from then on.
    ///
    /// \param stream  of the op's lane; stays where it is
    Action bind(const schedule::Program& program,
                const schedule::Op& op,
                const state::TierMemory& memory,
                const device::Stream& stream);

  private:
    void join(const comm::Context& world);

    spec::DType type_;
    std::int64_t first_ = 0;  ///< column of this rank's logits
    bool is_cut_;             ///< over ranks
    bool gives_;              ///< its logits to all ranks: one replica of each slice does
    std::int64_t row_ = -1;
    std::span<const std::byte> row_of_host_;  ///< in the type of the logits, padding with it
    std::vector<float> logits_;
};

}  // namespace ziggurat::train
