/// Check that all ranks run the same program.
#pragma once

#include <string>

#include "comm/context.hpp"

namespace ziggurat::train {

/// Refuses ranks that were built otherwise than rank 0: copies of state that each rank updates by itself
/// would drift apart, and messages may mean something else.
///
/// \param version  of this rank's program, with what it was built of and for
/// Collective: over `world`
/// Errors:     Error{resource} on all ranks alike, which names the first rank that differs
void expect_same_program(const std::string& version, const comm::Context& world);

}  // namespace ziggurat::train
