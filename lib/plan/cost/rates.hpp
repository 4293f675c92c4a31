/// Rates of one rank's hardware while all other ranks work too.
#pragma once

#include "base/enum_array.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Rates of a rank; those of a node are divided among its ranks. No rate is 0.
struct Rates {
    spec::ProductRates products{.forward = {.flops = 1}};  ///< in the compute type
    spec::AttentionRate attention{1, 1};
    EnumArray<spec::SweepKind, spec::SweepRate> sweeps = {};  ///< 0: `memory`
    double memory = 1;                                        ///< bytes/s of kernels on the compute lane
    double updates = 0;  ///< parameters/s of AdamW on the host; 0: by bytes, at `host_memory`
    double host_memory = 1;
    /// Seconds that each kernel of a device, or each op on the host, adds to its lane.
    double op_overhead = 0;
    /// Seconds in which the host launches an op of a device; ops begin no earlier.
    double launch_time = 0;
    // Bytes per second.
    double nvme_read = 1;
    double nvme_write = 1;
    double host_to_device = 1;
    double device_to_host = 1;
    // The same links for control values, which debug.throttle does not slow.
    double control_to_device = 1;
    double control_to_host = 1;
    // Links between ranks, with the bandwidth of one rank.
    spec::LinkRate node_link{.bandwidth = 1e9};
    spec::LinkRate network_link{.bandwidth = 1e9};
    double tensor_axis = 0;  ///< highest bandwidth of one rank in collectives of the tensor axis; 0: no limit
    int ranks_per_node = 1;
    /// Minimum seconds of a decoder layer's forward, and half of those of its backward. The time added to
    /// reach this minimum uses no processor.
    double layer_forward = 0;
    /// Without a device, one processor runs compute, updates and sums.
    bool has_device = false;
    /// Disks share their rate between reads and writes: writes reduce the rate of concurrent reads.
    bool has_shared_disks = false;

    /// Ops with a predicate run: updates that assumed no clipping are repeated.
    bool redoes_updates = false;

    /// Returns the bytes/s of kernels of a kind.
    double of(spec::SweepKind sweep, bool is_forward) const {
        const auto& known = sweeps[sweep];
        const double rate = is_forward ? known.forward : known.backward;
        return rate > 0 ? rate : memory;
    }

    bool operator==(const Rates&) const = default;
};

/// Returns the rates of the machine, or those of debug.throttle if they are lower.
///
/// Unknown rates have usual values: 40 GFLOP/s for each thread or 70 TFLOP/s for a device, half of that for
/// attention, 5 GB/s of memory or 500 GB/s on a device, 2 GB/s for the disks of a node, 10 GB/s and 5 us for
/// a link. Overheads and launches that are unknown take no time. Links that debug.throttle slows are
/// independent; otherwise reads and writes share the disks.
Rates rates_of(const spec::RunSpec& spec, const spec::MachineSpec& machine);

/// Returns the machine with the limits of debug.throttle.
spec::MachineSpec throttled(spec::MachineSpec machine, const spec::RunSpec& spec);

}  // namespace ziggurat::plan
