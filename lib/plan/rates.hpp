/// Rates of a rank's hardware, and the time of one operation at these rates.
#pragma once

#include "schedule/step_program.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Rates of a rank while all other ranks work too; no rate is 0.
struct Rates {
    double flops = 1;  ///< FLOP/s of products
    // Bytes per second.
    double memory = 1;  ///< for compute ops without products, and for collectives
    double nvme_read = 1;
    double nvme_write = 1;
    double host_to_device = 1;
    double device_to_host = 1;
    // The same links for control values, which debug.throttle does not slow.
    double control_to_device = 1;
    double control_to_host = 1;
    /// Minimum seconds of a decoder layer's forward, and half of those of its backward. The time added to
    /// reach this minimum uses no processor.
    double layer_forward = 0;
    /// Without a device, one processor runs compute, updates and sums.
    bool has_device = false;
    /// Disks share their rate between reads and writes: writes reduce the rate of concurrent reads.
    bool has_shared_disks = false;

    bool operator==(const Rates&) const = default;
};

/// Returns the rates of the machine, or those of debug.throttle if they are lower.
///
/// Rates of a node are divided among its ranks. Unknown rates have usual values: 40 GFLOP/s for each thread
/// or 70 TFLOP/s for a device, 2 GB/s for the disks of a node, 10 GB/s for a link. Links that debug.throttle
/// slows are independent; otherwise reads and writes share the disks.
Rates rates_of(const spec::RunSpec& spec, const spec::MachineSpec& machine);

/// Returns the machine with the limits of debug.throttle.
spec::MachineSpec throttled(spec::MachineSpec machine, const spec::RunSpec& spec);

/// Returns the seconds that `op` of `program` takes if it runs alone.
double op_seconds(const schedule::Op& op, const schedule::Program& program, const Rates& rates);

}  // namespace ziggurat::plan
