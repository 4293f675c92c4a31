/// Match of ops of a node's ranks that are parts of one collective.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::train {

/// By op: the same number on all ranks that take part in one collective, in a send and its receive, or in the
/// end of the step; 0: nobody else takes part. Pure
///
/// Numerics: members of a group do its collectives in the same order, so a group and a place in that order
/// name one.
std::vector<std::uint64_t> collective_keys(const schedule::Program& program);

/// Finds the other ranks' ops of a collective. No allocation after construction.
class CollectiveMatch {
  public:
    struct Member {
        int rank = 0;  ///< of the node
        int op = -1;   ///< of its program
    };

    /// \param keys  [rank of the node][op]: collective_keys of its program
    explicit CollectiveMatch(const std::vector<std::vector<std::uint64_t>>& keys);

    /// All of this node that take part in it, the rank itself too; empty: no collective.
    std::span<const Member> of(int rank, int op) const noexcept;

  private:
    std::vector<std::vector<int>> collective_of_;  ///< [rank][op], -1: none
    std::vector<std::size_t> first_member_;        ///< by collective, and one more
    std::vector<Member> members_;
};

}  // namespace ziggurat::train
