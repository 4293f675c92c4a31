/// The order of sums within one group of data ranks.
#pragma once

#include <span>

namespace ziggurat::layout {

/// How many members of a group are summed together before the runs are: what `comm::fold` calls sum_group; 0
/// is one run of all.
///
/// A deck's `sharding.sum_group` N counts data ranks: those with the same rank / N are summed first, in
/// general the ranks of a node. A collective over part of the data axis adds in that order what it has of
/// each run: with members g ranks apart these are N/g members where g divides N, and where N divides g all
/// are apart, so that the order is plainly theirs. Where its runs are of different lengths, as of ranks 0, 2,
/// 4 with N = 4 or of a group that lies across runs, it adds from left to right.
///
/// \param data_ranks  the members' ranks on the data axis, in member order; equal ones belong together
/// \pre sum_group >= 1
int members_summed_together(std::span<const int> data_ranks, int sum_group);

}  // namespace ziggurat::layout
