/// Discovery of the devices of this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ziggurat::device {

/// Devices that ranks of this node may compute with. None: the host's cores compute, and a part of the host's
/// memory is the device tier.
struct Discovery {
    int count = 0;
    std::int64_t bytes = 0;                 ///< memory of one, of that which has least
    int multiprocessors = 0;                ///< of one, of that which has least
    int capability = 0;                     ///< the lowest: 90 for compute capability 9.0
    std::vector<std::string> ids = {};      ///< of each, the same for all processes of the machine
    std::vector<std::string> pci_ids = {};  ///< of each: 0000:17:00.0
    std::string why_none = {};              ///< for people: why there is none that could be used
    /// The system names GPUs, whether or not they can be used: /dev/nvidia0 or another number.
    bool is_hardware_there = false;
};

/// Asks the system. A process sees the devices that its launcher leaves it.
Discovery discover();

}  // namespace ziggurat::device
