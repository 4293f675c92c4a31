#include "plan/gpu/group_uses.hpp"

#include <cstddef>

#include "layout/nccl_sums.hpp"

namespace ziggurat::plan {

using schedule::Op;
using schedule::Program;

namespace {

/// Returns the members' blocks of one part of a sum. Programs of plans do not list the blocks of
/// shards: all blocks are then practically equal, and this rank's block is its share of the whole.
std::vector<layout::VectorBlock> blocks_of(const Op& op, std::size_t part, int members) {
    std::vector<layout::VectorBlock> blocks;
    if (op.blocks.empty()) {
        const auto own = op.writes.at(part).bytes();
        const auto all = op.reads.at(part).bytes();
        if (own * members != all) {
            return {{0, all}, {all, 0}};
        }
        for (int m = 0; m < members; ++m) {
            blocks.push_back({m * own, own});
        }
        return blocks;
    }
    for (std::size_t m = 0; m < static_cast<std::size_t>(members); ++m) {
        const auto& block = op.blocks.at(part * static_cast<std::size_t>(members) + m);
        blocks.push_back({block.offset, block.bytes});
    }
    return blocks;
}

}  // namespace

std::vector<GroupUse> uses_of_groups(const Program& program) {
    std::vector<GroupUse> uses(program.groups.size());
    for (const auto& op : program.ops) {
        if (is_message(op.kind)) {
            uses.at(op.group).links.emplace(op.peer, op.kind);
        }
        if (!is_collective(op.kind) || is_message(op.kind)) {
            continue;
        }
        const std::size_t group = op.group;
        auto& use = uses.at(group);
        use.has_collectives = true;
        for (std::size_t part = 0; is_sum(op.kind) && !use.has_pieces && part < op.writes.size(); ++part) {
            use.has_pieces =
                layout::is_summed_in_pieces(op.payload, blocks_of(op, part, program.groups.at(group).size()));
        }
    }
    return uses;
}

}  // namespace ziggurat::plan
