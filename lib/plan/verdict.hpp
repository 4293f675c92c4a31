/// Verdict on a plan in words: it fits, or what is short.
#pragma once

#include <span>
#include <string>

#include "plan/footprint.hpp"
#include "plan/stages_table.hpp"

namespace ziggurat::plan {

/// One line with what is to spare; or, for each budget that is too small, what it lacks, the plan, and the
/// consumers that take most of it.
///
/// \param stages  the fullest rank of each; of a tier, the stage that takes most of it is spoken of
/// \param but     what is said besides where it fits: why it cannot be run all the same
std::string verdict(const spec::RunSpec& spec,
                    const Footprint& footprint,
                    std::span<const StageUsage> stages,
                    const std::string& but = {});

}  // namespace ziggurat::plan
