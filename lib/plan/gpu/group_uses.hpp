/// GroupUse: how the groups of a program exchange by NCCL.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// Each group with collectives has a communicator, and each direction of messages to a peer one of its own.
struct GroupUse {
    bool has_collectives = false;
    bool has_pieces = false;                                ///< sums of received pieces
    std::set<std::pair<int, schedule::OpKind>> links = {};  ///< messages, by the peer and their direction
};

/// By group of the program.
std::vector<GroupUse> uses_of_groups(const schedule::Program& program);

}  // namespace ziggurat::plan
