/// Trials of what ranks have between them: messages, clocks, and each other's memory.
#pragma once

#include <string>
#include <vector>

#include "comm/context.hpp"

namespace ziggurat::comm {

/// Sends a message of 1 MiB to the next rank and takes that of the one before, which has to be what was sent.
///
/// Collective: over `world`
/// Errors:     Error{communication} that names both ranks, when it has not come after `patience_seconds` or
/// is
///             another
void exchange_with_neighbours(const Context& world, double patience_seconds);

/// By rank, on rank 0: how many seconds its calendar is ahead of that of rank 0, by the fastest of several
/// answers; empty elsewhere.
///
/// Collective: over `world`
std::vector<double> seconds_ahead(const Context& world);

/// Why ranks of a node cannot read each other's memory; empty, on all ranks, where they can.
///
/// Collective: over `world`
std::string why_memory_is_not_shared(const Context& world);

}  // namespace ziggurat::comm
