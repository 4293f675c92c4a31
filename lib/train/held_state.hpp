/// What of an assembly checkpoints read and write.
#pragma once

#include "device/stream.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::train {

/// The state of one rank: what is where, and the bytes. Borrowed.
struct HeldState {
    const schedule::ModelLayout& model;
    const schedule::Program& program;  ///< of training: its persistent buffers are the state
    const state::TierMemory& memory;
    const device::Stream& stream;
};

}  // namespace ziggurat::train
