/// Number of threads that a rank computes with.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "train/step/rank_place.hpp"

namespace ziggurat::train {

/// Threads of rank `self` when nobody asked for a number: its share of the cores it may use, at least 1.
///
/// A core that several ranks of a host may use is shared by them equally, so the answer is right whether the
/// launcher binds ranks to cores of their own or lets all of them use all cores.
/// \param core_limit  cores that the host's control group grants to all its ranks together; 0: no limit
int share_of_cores(std::span<const RankPlace> ranks, int self, int core_limit = 0);

/// The logical CPUs that this process may use.
std::vector<int> usable_cores();

/// Cores' worth of time that the control group grants to this process and those beside it; 0: no limit.
int control_group_core_limit();

/// Number of usable_cores() that the limit leaves.
int granted_cores();

}  // namespace ziggurat::train
