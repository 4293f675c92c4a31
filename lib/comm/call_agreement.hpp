/// Agreement of all members of a group about a call.
#pragma once

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"

namespace ziggurat::comm {

/// Compares kind, type, order of sums, root and blocks of a call of the whole group; of an all-to-all, what
/// each sends with what the other expects.
///
/// \param number  of the call among those of the group, for the message
/// Collective: over `group`
/// Errors:     Error{internal} on all members when any differs
void check_agreement(const Communicator& group, const CollectiveCall& call, int number);

}  // namespace ziggurat::comm
