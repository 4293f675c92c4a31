/// Rates of what a rank works with, and the time of one operation by them.
#pragma once

#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// What a rank has while all others work as well; none is 0.
struct Rates {
    double flops = 1;  ///< FLOP/s of products
    // Bytes per second.
    double memory = 1;  ///< of what computes without products, and of collectives
    double nvme_read = 1;
    double nvme_write = 1;
    double host_to_device = 1;
    double device_to_host = 1;
    // Of the same ways, for control values, which debug.throttle lets through.
    double control_to_device = 1;
    double control_to_host = 1;
    /// Seconds of a decoder layer's forward at least, and half of those of its backward; no processor is used
    /// in those that it takes longer.
    double layer_forward = 0;
    /// Without a device, one processor computes, updates and sums.
    bool has_device = false;
    /// Disks that read write nothing meanwhile: what is written beside reads takes from their rate.
    bool has_shared_disks = false;

    bool operator==(const Rates&) const = default;
};

/// The rates of the machine, of a node's its ranks' parts, where debug.throttle says nothing lower. For what
/// is unknown stands what is usual: 40 GFLOP/s for each thread or 70 TFLOP/s of a device, 2 GB/s of the disks
/// of a node, 10 GB/s of a link. Ways that debug.throttle slows do so each for itself; others share the
/// disks.
Rates rates_of(const spec::RunSpec& spec, const spec::MachineSpec& machine);

/// The machine as debug.throttle makes it.
spec::MachineSpec throttled(spec::MachineSpec machine, const spec::RunSpec& spec);

/// Seconds that `op` of `program` takes by itself.
double op_seconds(const schedule::Op& op, const schedule::Program& program, const Rates& rates);

}  // namespace ziggurat::plan
