/// Does a run fit, and what helps where it does not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/gpu/nccl_blocks.hpp"
#include "plan/remedies.hpp"
#include "plan/stages_table.hpp"

namespace ziggurat::plan {

/// Memory of the ranks that were planned.
struct MemoryReport {
    std::string table;      ///< with the verdict, and remedies where it does not fit
    std::string infinity;   ///< see infinity_tables
    std::string how_exact;  ///< said in the table too; empty: as exact as RunPlan is
    bool fits = false;
    /// The fullest rank of each stage that was built: where there is one, the table is its, else a column for
    /// each.
    std::vector<StageUsage> stages;
    Footprint footprint;
    std::vector<Remedy> remedies;  ///< cheapest first; empty where it fits
    /// Those of the rank whose kernels of NCCL take most of its GPU, by the program's own limits.
    std::vector<CommunicatorBlocks> communicators = {};

    /// The stage with most device memory.
    const StageUsage& fullest() const;
};

/// Plans the run, reports on the rank of each stage that needs the most, and finds remedies.
///
/// \param known  what is known to be needed, where that is more than a plan of some ranks
/// \param but    as verdict() has it
MemoryReport memory_report(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine = {},
                           const std::optional<Footprint>& known = {},
                           const Watch& watch = {},
                           const std::string& but = {});

}  // namespace ziggurat::plan
