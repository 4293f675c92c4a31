/// Programs in which chunks of state stay on the device as long as it has room.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/expand/expand.hpp"
#include "schedule/residency/bridged_residencies.hpp"

namespace ziggurat::schedule {

/// Placed program, and its residencies of state on the device.
struct PlacedState {
    Program program;
    std::vector<DeviceResidency> on_device;
};

/// Moves the state of a program and places its buffers (see transfer_pass for the second argument).
using MoveState = std::function<PlacedState(ProgramBuilder, const std::vector<bool>&)>;

/// Returns the program of `draft` whose state stays on the device between uses, if memory is free.
///
/// It is first built with static movement, which shows the free memory at each op and all next uses of a
/// step. Then choose_stays() chooses, for each arena of the device, which bytes stay. All state is at home at
/// the end of a step, as at its beginning. The result needs no more memory than `device_bytes`, or than the
/// program with static movement if that needs more. Holes can make a placement exceed it: then fewer bytes
/// stay.
///
/// \param device_bytes  budget of the device tier
Program with_chunks_on_device(const ProgramBuilder& draft,
                              const MoveState& move_state,
                              std::int64_t device_bytes);

}  // namespace ziggurat::schedule
