/// State of an assembly that checkpoints read and write.
#pragma once

#include <functional>

#include "device/device.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::train {

class SaveStream;

/// The state of one rank: what is where, and the bytes. Borrowed.
struct HeldState {
    const schedule::ModelLayout& model;
    const schedule::Program& program;  ///< of training: its persistent buffers are the state
    const state::TierMemory& memory;
    const device::Processors& processors;
    SaveStream& stream_to_save;   ///< of what lies on NVMe, into checkpoints
    std::function<void()> drain;  ///< returns when nothing of the steps done is on its way any more
};

}  // namespace ziggurat::train
