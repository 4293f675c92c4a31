/// make_device_collectives: collectives of a group whose vectors may be in the device tier.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "comm/node/node_memory.hpp"
#include "device/arena.hpp"
#include "device/device.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::comm {

/// Returns the collectives of a run with `transport`: NCCL, through staging memory, or on the host.
///
/// \param arenas  arenas that contain vectors; they, `device` and `node` outlive the result
/// Collective: over `members`
std::unique_ptr<Collectives> make_device_collectives(const Communicator& members,
                                                     NodeMemory& node,
                                                     const std::string& name,
                                                     std::span<const device::Arena> arenas,
                                                     device::Device& device,
                                                     spec::Transport transport);

}  // namespace ziggurat::comm
