/// Choice of this rank's device among those of its host.
#pragma once

#include "comm/context.hpp"
#include "device/discovery.hpp"
#include "device/spread_ranks.hpp"

namespace ziggurat::app {

/// Returns the device that device::spread_ranks assigns to this rank, if every rank sees a device.
///
/// Otherwise returns the default: the first device, not shared. All ranks take the same branch.
///
/// Collective: over `world`
device::RankDevice find_local_device(const comm::Context& world, const device::Discovery& devices);

}  // namespace ziggurat::app
