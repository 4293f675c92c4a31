/// A small run on four ranks, and a machine whose nodes have two ranks.
#pragma once

#include <cstdint>

#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::test {

inline spec::MachineSpec machine_of_two_ranks() {
    spec::MachineSpec machine;
    machine.has_device = true;
    machine.ranks_per_node = 2;
    machine.device_bytes = std::int64_t{1} << 40;
    machine.host_bytes = std::int64_t{1} << 40;
    machine.device_flops = 2e9;
    machine.device_bandwidth = 4e8;
    machine.op_overhead = 2e-6;
    machine.node_link = {.bandwidth = 2e8, .latency = 5e-6};
    machine.network_link = {.bandwidth = 5e7, .latency = 1e-5};
    return machine;
}

/// A run on four ranks of two nodes, with a global batch of 8 sequences.
inline spec::RunSpec run_on_two_nodes(const char* family) {
    auto spec = small_spec(family, 4);
    spec.model.layers = 4;
    spec.parallel.ranks_per_node = 2;
    spec.train.micro_batch = 1;
    spec.train.micro_batches = 2;
    spec.train.global_batch = 8;
    return spec;
}

}  // namespace ziggurat::test
