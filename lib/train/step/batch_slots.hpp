/// Batch slots: buffers from which a program reads a micro-batch, and into which it writes its losses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::train {

/// Memory of the tensors of one micro-batch (schedule::BatchTensor).
struct BatchSlot {
    std::span<std::int32_t> tokens;           ///< [micro_batch * seq]
    std::span<std::int32_t> targets;          ///< [micro_batch * seq]
    std::span<std::int32_t> positions;        ///< [micro_batch * seq]
    std::span<std::int32_t> document_starts;  ///< [micro_batch * seq]
    std::span<std::uint8_t> mask;             ///< [micro_batch * seq]
    std::span<std::int64_t> samples;          ///< [micro_batch]
    std::span<float> losses;                  ///< [micro_batch * seq], 0 where the mask is 0
};

/// Returns one slot for each micro-batch of the program.
std::vector<BatchSlot> batch_slots(const schedule::Program& program, const state::TierMemory& memory);

}  // namespace ziggurat::train
