/// Matching of the ops of a node's ranks that belong to one collective.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::train {

/// Returns by op a key that is equal on all ranks of one communication; 0 for other ops.
///
/// A communication is a collective, a send and its receive, or the end of the step. Members of a group run
/// its collectives in the same order, so a group and an index in that order identify one. Pure
std::vector<std::uint64_t> collective_keys(const schedule::Program& program);

/// Lookup of the other ranks' ops of a collective. No allocation after construction.
class CollectiveMatch {
  public:
    struct Member {
        int rank = 0;            ///< rank within the node
        schedule::OpId op = -1;  ///< op of its program
    };

    /// \param keys  [rank of the node][op]: collective_keys of its program
    explicit CollectiveMatch(const std::vector<std::vector<std::uint64_t>>& keys);

    /// Returns all members on this node, including the rank itself; empty if the op is not a collective.
    std::span<const Member> of(int rank, schedule::OpId op) const noexcept;

  private:
    std::vector<std::vector<int>> collective_of_;  ///< [rank][op]; -1: not a collective
    std::vector<std::size_t> first_member_;        ///< by collective, with one additional entry at the end
    std::vector<Member> members_;
};

}  // namespace ziggurat::train
