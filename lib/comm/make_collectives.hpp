/// Choice of the implementation of `Collectives` that a group gets.
#pragma once

#include <memory>
#include <string>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "comm/node/node_memory.hpp"

namespace ziggurat::comm {

/// Where memory is shared: through it when all members are on one node, and hierarchical when several nodes
/// have members and one of them more than one. Else over MPI. The results have the same bits.
///
/// \param group  in member order, which is the order of sums
/// \param node   outlives what is made; arenas may be shared with it before or after, but before the calls
///               that use them are prepared
/// \param name   of the group, for messages
/// Collective: over `group`
std::unique_ptr<Collectives> make_collectives(const Communicator& group,
                                              NodeMemory& node,
                                              const std::string& name = "the group");

}  // namespace ziggurat::comm
