/// Verdict on a plan in words: it fits, or what is short.
#pragma once

#include <string>

#include "plan/footprint.hpp"
#include "plan/memory_table.hpp"

namespace ziggurat::plan {

/// One line with what is to spare; or, for each budget that is too small, what it lacks, the plan, and the
/// consumers that take most of it.
std::string verdict(const spec::RunSpec& spec, const Footprint& footprint, const MemoryTable& table);

}  // namespace ziggurat::plan
