/// Collectives between GPUs by NCCL, where the build has it (has_nccl).
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

/// For a group whose ranks each compute with a GPU of their own. A call goes by NCCL where one of its members
/// has a vector in a GPU's memory, and all messages between two do; where all vectors of a call are the
/// host's, so are its collectives.
///
/// Numerics: all-gathers and sums of blocks that are equal and touch each other are the library's: sums of
///           float in an order of its own. Other sums, and those of bfloat16 among more than two members, are
///           made of received pieces by a kernel, with the bits of fold.hpp.
///
/// \param name     of the group, for messages
/// \param on_host  the group's collectives of vectors of the host
/// \param arenas   in which vectors of the device lie; they outlive what is made, as do `device` and `node`
/// \param node     its WaitContext hears of waits for others
/// Collective: over `group`
std::unique_ptr<Collectives> make_nccl_collectives(const Communicator& group,
                                                   const std::string& name,
                                                   std::unique_ptr<Collectives> on_host,
                                                   std::span<const device::Arena> arenas,
                                                   device::Device& device,
                                                   NodeMemory& node);

}  // namespace ziggurat::comm
