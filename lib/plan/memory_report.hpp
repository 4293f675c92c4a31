/// Does a run fit, and what helps where it does not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/memory_table.hpp"
#include "plan/remedies.hpp"

namespace ziggurat::plan {

/// Of the fullest of the ranks that were planned.
struct MemoryReport {
    std::string table;      ///< with the verdict, and remedies where it does not fit
    std::string infinity;   ///< see infinity_tables
    std::string how_exact;  ///< said in the table too; empty: as exact as RunPlan is
    bool fits = false;
    int rank = 0;       ///< whose memory it is
    MemoryTable usage;  ///< by consumer
    Footprint footprint;
    std::vector<Remedy> remedies;  ///< cheapest first; empty where it fits
};

/// Plans the run, reports on the rank that needs the most, and finds remedies.
///
/// \param known  what is known to be needed, where that is more than a plan of some ranks
MemoryReport memory_report(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine = {},
                           const std::optional<Footprint>& known = {},
                           const Watch& watch = {});

}  // namespace ziggurat::plan
