/// Verdict on a plan as text: it fits, or which memory is short.
#pragma once

#include <span>
#include <string>

#include "plan/footprint.hpp"
#include "plan/report/stages_table.hpp"

namespace ziggurat::plan {

/// Returns one line with the free memory, or for each budget that is too small its shortfall.
///
/// A shortfall comes with the plan and its largest consumers.
///
/// \param stages  fullest rank of each stage; for each tier, the text names the stage with the largest use
/// \param but     restriction that is added if the run fits: why it still cannot run
std::string verdict(const spec::RunSpec& spec,
                    const Footprint& footprint,
                    std::span<const StageUsage> stages,
                    const std::string& but = {});

}  // namespace ziggurat::plan
