/// Plan of a collective over several nodes: the part of each member. It uses neither MPI nor memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/collectives.hpp"

namespace ziggurat::comm {

/// Consecutive members of one range of `sum_group` that contribute one addend to a remote block.
///
/// If the range is on one node, its members are summed to one addend. Otherwise each member contributes its
/// own input.
struct SumPart {
    int first = 0;  ///< first member
    int count = 1;
    int node = 0;
    int run = 0;  ///< index of the range of `sum_group`; parts of the same range are adjacent

    bool has(int member) const noexcept { return member >= first && member < first + count; }
    bool operator==(const SumPart&) const = default;
};

/// Plan for a group of ranks on several nodes and one order of sums.
///
/// A block belongs to its owner. The owner reads addends from its own node in shared memory. From every other
/// node it receives one addend per part, computed by the part's *summer*. A finished block is sent to each
/// other node once, to the node's *gatherer*, from which the others of that node read it. Example with two
/// nodes of two members:
///
///     node      0     0     1     1
///     member    0     1     2     3        sum_group 2: parts {0, 1} and {2, 3}
///     owner 0   owner .     summer .       member 2 sums block 0 of {2, 3}, sends it to 0, gets the sum of
///     all owner 3   .    summer .    owner
///
/// Each node assigns the blocks of remote owners to its members in turn. On nodes of equal size, a member
/// therefore serves the owners with the same index on their nodes.
class HierarchicalPlan {
  public:
    /// \param node_of_member  nodes are numbered in the order of their first members
    /// \param sum_group       as in CollectiveCall
    HierarchicalPlan(std::vector<int> node_of_member, int sum_group);

    int size() const noexcept { return static_cast<int>(node_of_.size()); }
    int sum_group() const noexcept { return sum_group_; }
    int num_nodes() const noexcept { return static_cast<int>(members_on_.size()); }
    int node_of(int member) const { return node_of_[member]; }
    bool are_neighbours(int a, int b) const { return node_of(a) == node_of(b); }
    /// Members of a node in ascending order.
    std::span<const int> members_on(int node) const { return members_on_[node]; }

    /// Parts in the order of their members.
    std::span<const SumPart> parts() const noexcept { return parts_; }
    const SumPart& part_of(int member) const { return parts_[part_of_[member]]; }

    /// Returns the member of `part` that sums its addends to the block of `owner`.
    ///
    /// If it is the gatherer, no other member reads its own addend to that block. So the gathered block may
    /// overwrite that addend.
    ///
    /// \pre `owner` is on another node
    int summer(const SumPart& part, int owner) const;

    /// Returns the member of `node` to which the block of `owner` is sent.
    ///
    /// \pre `owner` is on another node
    int gatherer(int node, int owner) const;

    /// Returns the number of partial sums that `member` computes or receives.
    int num_staged(int member) const;

    /// Length of the pieces of all partial sums of a call; the same on all members.
    std::int64_t piece_elements() const noexcept { return piece_elements_; }
    /// Returns the memory for the pieces of one running call on `member`.
    std::int64_t staging_bytes(int member) const;

    static constexpr std::int64_t depth = 2;  ///< pieces of a partial sum that are in flight
    static constexpr std::int64_t calls_at_a_time = 2;

  private:
    /// Returns the number of remote owners, as seen from `node`, that precede `owner`.
    int turn_of(int node, int owner) const;

    std::vector<int> node_of_;                  // by member
    std::vector<std::vector<int>> members_on_;  // by node
    int sum_group_;
    std::vector<SumPart> parts_;
    std::vector<int> part_of_;  // by member
    std::int64_t piece_elements_ = 0;
};

}  // namespace ziggurat::comm
