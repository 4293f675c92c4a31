/// Plan of a collective whose members sit on several nodes: the part of each. Pure arithmetic: no MPI, no
/// memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/collectives.hpp"

namespace ziggurat::comm {

/// Consecutive members of one run of `sum_group` that bring one addend to a block on another node: all of the
/// run, summed, where the run lies on one node; else one member and its own input.
struct SumPart {
    int first = 0;  ///< member
    int count = 1;
    int node = 0;
    int run = 0;  ///< parts of the same run are neighbours

    bool has(int member) const noexcept { return member >= first && member < first + count; }
    bool operator==(const SumPart&) const = default;
};

/// A group of ranks on several nodes and one order of sums.
///
/// A block belongs to its owner. Its addends from the owner's own node are read there, in shared memory; from
/// every other node comes one addend per part, made by the part's *summer*. A finished block goes to each
/// other node once, to the node's *gatherer*, from which the others of that node read it. With two nodes of
/// two:
///
///     node      0     0     1     1
///     member    0     1     2     3        sum_group 2: parts {0, 1} and {2, 3}
///     owner 0   owner .     summer .       member 2 sums block 0 of {2, 3}, sends it to 0, gets the sum of
///     all owner 3   .    summer .    owner
///
/// Each node deals the blocks of foreign owners to its members in turn, so that on nodes of equal size a
/// member serves the owners of the same place on their nodes.
class HierarchicalPlan {
  public:
    /// \param node_of_member  nodes are 0, 1, ... in the order of their first members
    /// \param sum_group       as in CollectiveCall
    HierarchicalPlan(std::vector<int> node_of_member, int sum_group);

    int size() const noexcept { return static_cast<int>(node_of_.size()); }
    int sum_group() const noexcept { return sum_group_; }
    int num_nodes() const noexcept { return static_cast<int>(members_on_.size()); }
    int node_of(int member) const { return node_of_[static_cast<std::size_t>(member)]; }
    bool are_neighbours(int a, int b) const { return node_of(a) == node_of(b); }
    /// In ascending order.
    std::span<const int> members_on(int node) const { return members_on_[static_cast<std::size_t>(node)]; }

    /// In the order of the members.
    std::span<const SumPart> parts() const noexcept { return parts_; }
    const SumPart& part_of(int member) const {
        return parts_[static_cast<std::size_t>(part_of_[static_cast<std::size_t>(member)])];
    }

    /// The member of `part` that sums its addends to the block of `owner`. If it is the gatherer, no other
    /// member reads its own addend to that block; so a gathered block may land where that addend lay.
    ///
    /// \pre `owner` sits on another node
    int summer(const SumPart& part, int owner) const;

    /// The member of `node` to which the block of `owner` is sent.
    ///
    /// \pre `owner` sits on another node
    int gatherer(int node, int owner) const;

    /// Partial sums that pass through memory of `member`: those that it makes and those that come to it.
    int num_staged(int member) const;

    /// Length of the pieces of all partial sums of a call; the same on all members.
    std::int64_t piece_elements() const noexcept { return piece_elements_; }
    /// Memory for the pieces of one running call on `member`.
    std::int64_t staging_bytes(int member) const;

    static constexpr std::int64_t depth = 2;  ///< pieces of a partial sum that are on their way
    static constexpr std::int64_t calls_at_a_time = 2;

  private:
    /// Number of foreign owners, as `node` sees it, that come before `owner`.
    int turn_of(int node, int owner) const;

    std::vector<int> node_of_;                  // by member
    std::vector<std::vector<int>> members_on_;  // by node
    int sum_group_;
    std::vector<SumPart> parts_;
    std::vector<int> part_of_;  // by member
    std::int64_t piece_elements_ = 0;
};

}  // namespace ziggurat::comm
