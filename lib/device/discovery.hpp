/// Discovery of the devices of this machine.
#pragma once

#include <cstdint>

namespace ziggurat::device {

/// Devices that ranks of this node may compute with. None: the host's cores compute, and a part of the host's
/// memory is the device tier.
struct Discovery {
    int count = 0;
    std::int64_t bytes = 0;  ///< memory of one, of that which has least
};

/// Asks the system.
Discovery discover();

}  // namespace ziggurat::device
