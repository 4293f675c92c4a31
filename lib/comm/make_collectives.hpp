/// make_collectives: choice of the implementation of `Collectives` for a group.
#pragma once

#include <memory>
#include <string>

#include "comm/collectives.hpp"
#include "comm/communicator.hpp"
#include "comm/node/node_memory.hpp"

namespace ziggurat::comm {

/// Returns the fastest implementation for the group. The results of all have the same bits.
///
/// With shared memory: SharedCollectives if all members are on one node. HierarchicalCollectives if they are
/// on several nodes, and one of these has more than one member. Otherwise MpiCollectives.
///
/// \param group  in member order, which is the order of sums
/// \param node   outlives the result; arenas may be shared with it before or after, but before the calls that
///               use them are prepared
/// \param name   name of the group, for messages
/// Collective: over `group`
std::unique_ptr<Collectives> make_collectives(const Communicator& group,
                                              NodeMemory& node,
                                              const std::string& name = "the group");

}  // namespace ziggurat::comm
