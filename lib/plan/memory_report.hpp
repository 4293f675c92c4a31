/// Does a run fit, and what helps where it does not.
#pragma once

#include <string>
#include <vector>

#include "plan/remedies.hpp"

namespace ziggurat::plan {

/// Of the fullest rank: stages of a pipeline differ, the other axes do not.
struct MemoryReport {
    std::string table;     ///< with the verdict, and remedies where it does not fit
    std::string infinity;  ///< see infinity_tables
    bool fits = false;
    Footprint footprint;
    std::vector<Remedy> remedies;  ///< cheapest first; empty where it fits
};

/// Builds the programs of one rank per stage, reports on the one that needs the most, and finds remedies.
MemoryReport memory_report(const spec::RunSpec& spec, const spec::MachineSpec& machine = {});

}  // namespace ziggurat::plan
