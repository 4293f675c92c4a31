/// Tests of communication between ranks: messages, clocks, and shared memory.
#pragma once

#include <string>
#include <vector>

#include "comm/context.hpp"

namespace ziggurat::comm {

/// Sends a message of 1 MiB to the next rank and checks the message of the previous rank.
///
/// Collective: over `world`
/// Errors:     Error{communication} that names both ranks, if the message has other contents or has not
///             arrived after `timeout_seconds`
void exchange_with_neighbours(const Context& world, double timeout_seconds);

/// Returns on rank 0, for each rank, the seconds that its clock is ahead of that of rank 0.
///
/// Measured with the fastest of several round trips. Empty on other ranks.
///
/// Collective: over `world`
std::vector<double> seconds_ahead(const Context& world);

/// Returns the reason why ranks of a node cannot share memory; empty, on all ranks, if they can.
///
/// Collective: over `world`
std::string unshared_memory_reason(const Context& world);

}  // namespace ziggurat::comm
