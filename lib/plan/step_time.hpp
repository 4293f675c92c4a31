/// Time of a step, by the rates of what its lanes work with.
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

/// Seconds from step to step of `program`, when nothing else is to be waited for: each op begins when its
/// lane is free, what it waits for has ended and what it shares with other lanes (disks; without a device the
/// processor) has nothing else to do, of several the one whose lane has waited longest; a step begins when
/// the one before has computed, as in train::Executor. Peers are as fast as this rank.
double step_seconds(const schedule::Program& program, const Rates& rates);

}  // namespace ziggurat::plan
