/// State of an assembly that checkpoints read and write.
#pragma once

#include <functional>

#include "device/device.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "state/tier_memory.hpp"

namespace ziggurat::train {

class SaveStream;

/// Borrowed view of the state of one rank: its layout and its bytes.
struct StateView {
    const schedule::ModelLayout& model;
    const schedule::Program& program;  ///< train program: its persistent buffers are the state
    const state::TierMemory& memory;
    const device::RankDevices& devices;
    SaveStream& stream_to_save;   ///< source of state on NVMe for checkpoints
    std::function<void()> drain;  ///< waits until the results of all completed steps are in their homes
};

}  // namespace ziggurat::train
