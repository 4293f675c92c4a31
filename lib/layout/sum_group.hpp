/// The order of sums within one group of data ranks.
#pragma once

#include <span>

namespace ziggurat::layout {

/// Returns the number of members of a group that are summed first, `comm::fold`'s sum_group.
///
/// 0 means that all members are summed in one range.
///
/// A deck's `sharding.sum_group` N counts data ranks. Ranks with the same rank / N are summed first; these
/// are usually the ranks of a node. A collective over a part of the data axis adds its members of each range
/// in that order. If members are g ranks apart and g divides N, a range has N/g members. If N divides g, each
/// member is in its own range, so the order is simply that of the members. If ranges have different lengths
/// (for example ranks 0, 2, 4 with N = 4, or a group that starts within a range), it adds from left to right.
///
/// \param data_ranks  the members' ranks on the data axis, in member order; members with equal ranks belong
/// together
/// \pre sum_group >= 1
int members_summed_together(std::span<const int> data_ranks, int sum_group);

}  // namespace ziggurat::layout
