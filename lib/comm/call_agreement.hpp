/// Check that all members of a group describe the same call.
#pragma once

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"

namespace ziggurat::comm {

/// Compares kind, type, order of sums, root and blocks of a call among the members of the group.
///
/// For an all-to-all, compares the sizes that each member sends with the sizes that the others expect.
///
/// \param number  number of the call among those of the group, for the message
/// Collective: over `group`
/// Errors:     Error{internal} on all members if any of these differs
void check_agreement(const Communicator& group, const CollectiveCall& call, int number);

}  // namespace ziggurat::comm
