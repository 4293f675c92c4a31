/// Check that all ranks run the same program.
#pragma once

#include <string>

#include "comm/context.hpp"

namespace ziggurat::train {

/// Throws if a rank runs another build than rank 0.
///
/// Otherwise replicas of state that each rank updates itself could diverge, and ranks could interpret
/// messages differently.
///
/// \param version  version of this rank's program, with its sources and build target
/// Collective: over `world`
/// Errors:     Error{resource} on all ranks; it names the first rank that differs
void expect_same_program(const std::string& version, const comm::Context& world);

}  // namespace ziggurat::train
