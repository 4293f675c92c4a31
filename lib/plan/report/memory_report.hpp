/// Report on the memory of a run, with remedies if it does not fit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/gpu/nccl_room.hpp"
#include "plan/report/bandwidth.hpp"
#include "plan/report/stages_table.hpp"
#include "plan/report/wear.hpp"
#include "plan/search/remedies.hpp"

namespace ziggurat::plan {

/// Memory of the ranks that were planned.
struct MemoryReport {
    std::string table;     ///< with the verdict, and with remedies if the run does not fit
    std::string infinity;  ///< see infinity_tables
    std::string process;   ///< see process_table(), of the fullest rank of each stage
    std::string verdict;   ///< see verdict(); also in the table
    std::vector<BandwidthRow> bandwidths = {};  ///< of state that is away from the device
    WorkingMemory working_memory = {};          ///< by ZeRO-Infinity's analysis
    Wear wear = {};
    std::string accuracy_note;  ///< also in the table; empty: as exact as RunPlan
    bool fits = false;
    /// Fullest rank of each stage that was built. With one stage, the table is that of its rank; otherwise
    /// it has a column for each stage.
    std::vector<StageUsage> stages;
    Footprint footprint;
    FoundRemedies found;  ///< empty if the run fits
    /// Communicators of the rank whose NCCL kernels use most of its GPU, with the program's own limits.
    std::vector<CommunicatorBlocks> communicators = {};

    /// Returns the stage with most device memory.
    const StageUsage& fullest() const;
};

/// Plans the run, reports on the rank of each stage that needs the most, and finds remedies.
///
/// \param known  known requirements, if they exceed a plan of some ranks
/// \param but    see verdict()
/// \param search  for remedies
MemoryReport memory_report(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine = {},
                           const std::optional<Footprint>& known = {},
                           const Watch& watch = {},
                           const std::string& but = {},
                           const RemedySearch& search = {});

}  // namespace ziggurat::plan
