/// find_local_device: the device of this rank among those of its host.
#pragma once

#include "comm/context.hpp"
#include "device/discovery.hpp"
#include "device/spread_ranks.hpp"

namespace ziggurat::app {

/// Of all ranks alike: as device::spread_ranks says where every rank sees a device; else the first, of its
/// own.
///
/// Collective: over `world`
device::RankDevice find_local_device(const comm::Context& world, const device::Discovery& devices);

}  // namespace ziggurat::app
