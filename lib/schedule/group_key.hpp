/// GroupKey: what equal groups of several programs have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// World ranks and name of a group. Its order is the same on all ranks.
using GroupKey = std::pair<std::vector<int>, std::string>;

inline GroupKey key_of(const Group& group) {
    return {group.members, group.name};
}

}  // namespace ziggurat::schedule
