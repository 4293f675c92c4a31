/// Bytes that a call between nodes moves: the reference for HierarchicalCollectives.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/contract.hpp"
#include "comm/hierarchical/hierarchical_plan.hpp"

namespace ziggurat::test {

inline std::int64_t bytes_of_sums(const comm::HierarchicalPlan& plan,
                                  const comm::CollectiveCall& call,
                                  int member) {
    const comm::SumPart& part = plan.part_of(member);
    const auto neighbours = std::ssize(plan.members_on(plan.node_of(member)));
    std::int64_t bytes = 0;
    for (int owner = 0; owner < plan.size(); ++owner) {
        const comm::Block& block = call.blocks[static_cast<std::size_t>(owner)];
        if (owner == member) {
            bytes += (neighbours - 1) * block.bytes;
        } else if (!plan.are_neighbours(owner, member) && plan.summer(part, owner) == member) {
            bytes += part.count * block.bytes;  // the inputs of other members are read, the sum is sent
        }
    }
    return bytes;
}

inline std::int64_t bytes_of_gathering(const comm::HierarchicalPlan& plan,
                                       std::span<const comm::Block> blocks,
                                       int member) {
    std::int64_t bytes = 0;
    for (int owner = 0; owner < plan.size(); ++owner) {
        const std::int64_t block = blocks[static_cast<std::size_t>(owner)].bytes;
        if (owner == member) {
            bytes += (plan.num_nodes() - 1) * block;
        } else if (plan.are_neighbours(owner, member) ||
                   plan.gatherer(plan.node_of(member), owner) != member) {
            bytes += block;
        }
    }
    return bytes;
}

/// Returns the bytes that `member` moves in one execution of a call.
///
/// It reads from the memory of other members on its node, and sends to other nodes. A partial sum counts as
/// the elements that it represents, although it is sent in fp32.
///
/// With blocks of one size s, on nodes of equal size with whole ranges, each of the n members moves (n - 1)
/// s in a reduce-scatter or an all-gather, and twice that in an all-reduce. All members together move
/// n (n - 1) s, or twice that, on any nodes and for any sum_group.
///
/// \pre the call is a collective of the whole group
inline std::int64_t bytes_to_move(const comm::HierarchicalPlan& plan,
                                  const comm::CollectiveCall& call,
                                  int member) {
    switch (call.kind) {
        case comm::CollectiveKind::reduce_scatter:
            return bytes_of_sums(plan, call, member);
        case comm::CollectiveKind::all_gather:
            return bytes_of_gathering(plan, call.blocks, member);
        case comm::CollectiveKind::all_reduce:
            return bytes_of_sums(plan, call, member) + bytes_of_gathering(plan, call.blocks, member);
        case comm::CollectiveKind::broadcast: {
            std::vector<comm::Block> blocks(static_cast<std::size_t>(plan.size()));
            blocks[static_cast<std::size_t>(call.peer)] = call.blocks.front();
            return bytes_of_gathering(plan, blocks, member);
        }
        case comm::CollectiveKind::all_to_all: {
            std::int64_t bytes = 0;
            for (int m = 0; m < plan.size(); ++m) {
                const auto other = static_cast<std::size_t>(m);
                if (m != member) {
                    bytes += plan.are_neighbours(m, member) ? call.output_blocks[other].bytes
                                                            : call.blocks[other].bytes;
                }
            }
            return bytes;
        }
        case comm::CollectiveKind::send:
        case comm::CollectiveKind::receive:
            break;
    }
    ZG_EXPECTS(false && "messages between two are no collective of the group");
}

}  // namespace ziggurat::test
