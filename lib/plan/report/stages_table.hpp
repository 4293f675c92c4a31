/// Memory table of a pipeline, with a column for the fullest rank of each stage.
#pragma once

#include <span>
#include <string>

#include "plan/memory_table.hpp"
#include "plan/process/process_memory.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Memory of the fullest rank of a stage.
struct StageUsage {
    int stage = 0;
    int last = 0;  ///< last stage that it represents; the first is `stage`
    int rank = 0;
    MemoryTable table;
    ProcessMemory process;  ///< of its host, outside of the tiers
};

/// Returns a block for each tier, with a row per consumer and a column per stage.
///
/// Four stages are next to each other. Rows above them give the layers and recomputation of each stage.
std::string stages_table(const spec::RunSpec& spec, std::span<const StageUsage> stages);

}  // namespace ziggurat::plan
