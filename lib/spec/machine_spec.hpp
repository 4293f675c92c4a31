/// Description of a machine; `check` and `plan` read it instead of querying the hardware.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

namespace ziggurat::spec {

/// Free space of disks that were not queried.
constexpr std::int64_t unknown_space = std::numeric_limits<std::int64_t>::max();

struct MachineSpec {
    std::string name = "this machine";
    bool has_device = false;            ///< GPUs; without them the device tier is part of host memory
    std::string no_device_reason = {};  ///< human-readable reason, if known
    /// True if this machine lists GPUs that cannot be used.
    bool is_device_broken = false;
    int ranks_per_node = 1;
    int cores_per_node = 1;
    std::int64_t device_bytes = 0;            ///< per rank
    int device_multiprocessors = 0;           ///< per GPU; 0: unknown
    int device_capability = 0;                ///< 90 for compute capability 9.0; 0: unknown
    std::int64_t host_bytes = 0;              ///< per node
    std::int64_t nvme_bytes = unknown_space;  ///< per node, all paths together

    // Rates; 0: unknown.
    double nvme_read_rate = 0;       ///< bytes/s of a node, all paths together
    double nvme_write_rate = 0;      ///< bytes/s of a node, all paths together
    double host_to_device_rate = 0;  ///< bytes/s of a rank while all others copy as well
    double device_to_host_rate = 0;  ///< bytes/s of a rank while all others copy as well
    double device_flops = 0;         ///< FLOP/s of a rank's matrix products in the compute type

    // Transfer parameters with the highest throughput to and from a node's NVMe disks; 0: unknown.
    std::int64_t nvme_block_bytes = 0;
    int nvme_queue_depth = 0;

    // Failures and price. Seconds are of the wall clock; 0: unknown, except for the restart.
    double seconds_to_failure = 0;  ///< mean time to failure of one node
    double restart_seconds = 180;   ///< from a failure until the program reads its checkpoint
    double checkpoint_rate = 0;     ///< bytes/s of a node to and from run.dir while all nodes save
    double price_per_hour = 0;      ///< of one node, in any currency

    bool operator==(const MachineSpec&) const = default;
};

}  // namespace ziggurat::spec
