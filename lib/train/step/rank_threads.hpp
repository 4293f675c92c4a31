/// Number of compute threads of a rank.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "train/step/rank_place.hpp"

namespace ziggurat::train {

/// Returns the default number of threads of rank `self`: its share of the usable cores, at least 1.
///
/// Several ranks of a host that may use the same core share it equally. So the result is correct both if the
/// launcher binds ranks to separate cores and if all ranks may use all cores.
/// \param core_limit  cores that the host's control group grants to all its ranks together; 0: no limit
int share_of_cores(std::span<const RankPlacement> ranks, int self, int core_limit = 0);

/// Returns the logical CPUs that this process may use.
std::vector<int> usable_cores();

/// Returns the CPU quota of the control group of this process, in cores; 0: no limit.
int control_group_core_limit();

/// Returns the number of usable_cores() within the limit of the control group.
int granted_cores();

}  // namespace ziggurat::train
