/// Collectives between GPUs over NCCL, if the build has it (has_nccl).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "comm/built_with.hpp"
#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "comm/node/node_memory.hpp"
#include "device/arena.hpp"
#include "device/device.hpp"

namespace ziggurat::comm {

/// Creates the collectives of a group whose ranks each have their own GPU.
///
/// A call uses NCCL if one of its members has a vector in GPU memory; all sends and receives do. If all
/// vectors of a collective call are on the host, it uses the host's collectives.
///
/// Numerics: all-gathers and sums of equal, contiguous blocks are calls of NCCL; it chooses the order of
///           float sums. Other sums, and those of bfloat16 over more than two members, are computed by a
///           kernel from received pieces, with the bits of fold.hpp.
///
/// \param name     name of the group, for messages
/// \param on_host  the group's collectives for host vectors
/// \param arenas   arenas of the device that contain vectors; they, `device` and `node` outlive the result
/// \param node     its WaitContext is notified of waits for others
/// Collective: over `group`
std::unique_ptr<Collectives> make_nccl_collectives(const Communicator& group,
                                                   const std::string& name,
                                                   std::unique_ptr<Collectives> on_host,
                                                   std::span<const device::Arena> arenas,
                                                   device::Device& device,
                                                   NodeMemory& node);

}  // namespace ziggurat::comm
