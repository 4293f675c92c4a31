/// A machine with slow devices, for plans of small runs.
#pragma once

#include "spec/machine_spec.hpp"

namespace ziggurat::test {

/// Returns low rates, so that all work of a small run takes a noticeable time.
inline spec::MachineSpec small_machine() {
    spec::MachineSpec machine;
    machine.has_device = true;
    machine.device_flops = 2e9;
    machine.device_bandwidth = 4e8;
    machine.host_bandwidth = 1e9;
    machine.host_to_device_rate = machine.device_to_host_rate = 2e8;
    machine.nvme_read_rate = machine.nvme_write_rate = 1e8;
    machine.node_link = {.bandwidth = 4e8, .latency = 5e-6};
    return machine;
}

}  // namespace ziggurat::test
