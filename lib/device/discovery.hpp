/// Discovery of the devices of this node.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ziggurat::device {

/// Devices of this node that ranks can use.
///
/// Without any, the host's cores compute, and a part of the host's memory is the device tier.
struct Discovery {
    int count = 0;
    std::int64_t bytes = 0;                 ///< memory per device: the minimum over devices
    int multiprocessors = 0;                ///< multiprocessors per device: the minimum over devices
    int capability = 0;                     ///< minimum over devices: 90 for compute capability 9.0
    std::vector<std::string> ids = {};      ///< of each device; the same for all processes of the node
    std::vector<std::string> pci_ids = {};  ///< of each device: 0000:17:00.0
    std::string unavailable_reason = {};    ///< reason why no device can be used, for messages
    /// True if the system lists GPUs, usable or not: /dev/nvidia0 or another number.
    bool is_hardware_there = false;
};

/// Queries the system. A process sees the devices that its launcher makes visible.
Discovery discover();

}  // namespace ziggurat::device
