/// What the machine has: a description that `check` and `plan` read instead of asking the hardware.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::spec {

struct MachineSpec {
    std::string name = "this machine";
    bool has_device = false;  ///< GPUs; without them the device tier is a part of the host's memory
    int ranks_per_node = 1;
    int cores_per_node = 1;
    std::int64_t device_bytes = 0;  ///< per rank
    std::int64_t host_bytes = 0;    ///< per node
    std::int64_t nvme_bytes = 0;    ///< per node, all paths together

    bool operator==(const MachineSpec&) const = default;
};

}  // namespace ziggurat::spec
