/// ZeRO-Infinity's analysis of a run: bandwidths that hide transfers, and working memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/memory_table.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// One kind of state that is away from the device.
struct BandwidthRow {
    std::string kind;
    spec::Home home;
    double flops_per_byte = 0;  ///< arithmetic intensity
    double for_half = 0;        ///< bytes/s of a rank for 50 % of the device's FLOP/s; 0: these are unknown
    double for_most = 0;        ///< for 90 %
    double has = 0;             ///< bytes/s of a rank's way on the machine; 0: unknown
    double efficiency = 0;      ///< that `has` gives, without overlap; 0: unknown

    bool operator==(const BandwidthRow&) const = default;
};

/// With t tokens of a micro-batch on a rank, m micro-batches, N data ranks that each hold and move a slice,
/// and efficiency e = ai·b / (ai·b + peak):
///
///     parameters, gradients  ai = t               each rank's way carries 1/N
///     optimizer              ai = t m / 4         each rank's way carries 1/N
///     activations            ai = 24 hidden ci    ci: units between checkpoints
///
/// Of a home in shares, what is away counts. Optimizer state on the host does not travel: it is updated
/// there.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 4
std::vector<BandwidthRow> bandwidths(const spec::RunSpec& spec, const spec::MachineSpec& machine);

/// The least memory that computing takes.
struct WorkingMemory {
    std::int64_t model_state = 0;  ///< MSWM: parameters and gradient of the largest product's weights
    std::int64_t largest_in = 0, largest_out = 0;
    std::int64_t activations = 0;  ///< AWM: what is between two checkpoints
};

/// MSWM = 2 c in out, AWM = c t ci (16 hidden + 2 heads seq), in the compute type of c bytes.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, section 3
WorkingMemory working_memory(const spec::RunSpec& spec);

/// Both, beside what the machine has and what the plan reserves for the same; empty where all state is at
/// home on the device.
std::string infinity_tables(const spec::RunSpec& spec,
                            const spec::MachineSpec& machine,
                            const MemoryTable& plan);

}  // namespace ziggurat::plan
