/// ZeRO-Infinity's analysis of a run: bandwidths that hide transfers, and working memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/memory_table.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Requirements of one kind of state that is away from the device.
struct BandwidthRow {
    std::string kind;
    spec::Home home;
    double flops_per_byte = 0;  ///< arithmetic intensity
    double for_half = 0;        ///< bytes/s per rank for 50 % of the device's FLOP/s; 0: FLOP/s unknown
    double for_most = 0;        ///< the same for 90 %
    double has = 0;             ///< bytes/s of a rank's link on the machine; 0: unknown
    double efficiency = 0;      ///< reached with `has`, without overlap; 0: unknown

    bool operator==(const BandwidthRow&) const = default;
};

/// Returns the bandwidth that each kind of state requires.
///
/// A rank has t tokens of a micro-batch and m micro-batches. N data ranks each hold and move one shard. The
/// efficiency is e = ai·b / (ai·b + peak):
///
///     parameters, gradients  ai = t               each rank's link moves 1/N
///     optimizer              ai = t m / 4         each rank's link moves 1/N
///     activations            ai = 24 hidden ci    ci: units between checkpoints
///
/// If a home is divided, only the part away from the device counts. Optimizer state on the host is not moved:
/// it is updated there.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 4
std::vector<BandwidthRow> bandwidths(const spec::RunSpec& spec, const spec::MachineSpec& machine);

/// Minimum memory that computation needs.
struct WorkingMemory {
    std::int64_t model_state = 0;  ///< MSWM: parameters and gradient of the largest product's weights
    std::int64_t largest_in = 0, largest_out = 0;
    std::int64_t activations = 0;  ///< AWM: activations between two checkpoints
};

/// Returns MSWM = 2 c in out and AWM = c t ci (16 hidden + 2 heads seq), in the compute type of c
/// bytes.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 3
WorkingMemory working_memory(const spec::RunSpec& spec);

/// Returns both tables, with the rates of the machine and the memory that the plan reserves.
///
/// The text is empty if all state is at home on the device.
std::string infinity_tables(const spec::RunSpec& spec,
                            const spec::MachineSpec& machine,
                            const MemoryTable& plan);

}  // namespace ziggurat::plan
