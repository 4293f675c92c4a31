/// GroupUse: the NCCL operations of a program's groups.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// NCCL use of a group. It has one communicator for collectives, and one per peer and direction of
/// messages.
struct GroupUse {
    bool has_collectives = false;
    bool has_pieces = false;                                ///< sums of received pieces
    std::set<std::pair<int, schedule::OpKind>> links = {};  ///< messages, by the peer and their direction
};

/// Returns the use of each group of the program.
std::vector<GroupUse> uses_of_groups(const schedule::Program& program);

}  // namespace ziggurat::plan
