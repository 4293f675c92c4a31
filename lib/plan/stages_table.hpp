/// Memory table of a pipeline: the fullest rank of each stage in a column.
#pragma once

#include <span>
#include <string>

#include "plan/memory_table.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Memory of the fullest rank of a stage.
struct StageUsage {
    int stage = 0;
    int last = 0;  ///< of the stages that it stands for: those from `stage` on
    int rank = 0;
    MemoryTable table;
};

/// A block for each tier with a line per consumer and a column per stage, four of them side by side; above,
/// what each stage is: its layers, its recomputation.
std::string stages_table(const spec::RunSpec& spec, std::span<const StageUsage> stages);

}  // namespace ziggurat::plan
