#include "plan/library_memory.hpp"

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "layout/nccl_sums.hpp"
#include "layout/workspaces.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Op;
using schedule::OpKind;
using schedule::Program;

// What NCCL keeps of a GPU for a channel of one connection: buffers of its three protocols, of 4 MiB (the
// default of NCCL_BUFFSIZE), 4.7 MiB and 0.5 MiB, in pages of 2 MiB on the GPU that receives; a page on the
// one that sends. Seen as allocations of 10,485,760 and 2,097,152 bytes (NCCL, issue 1685).
constexpr std::int64_t receiving_bytes = std::int64_t{10} << 20;
constexpr std::int64_t sending_bytes = std::int64_t{2} << 20;
/// Of a communicator of collectives, where NVLink joins GPUs: a ring and a tree lead to and from two
/// neighbours. So much is 576 MiB; 544 to 688 MiB were measured on A100s (NCCL, issue 964). Where all members
/// send each other pieces it may be more: 3.3 GB were seen on each of eight H100 (issue 1685).
constexpr std::int64_t group_channels = 24;
constexpr std::int64_t group_bytes = group_channels * 2 * (receiving_bytes + sending_bytes);
/// Of a communicator of messages in one direction between two.
constexpr std::int64_t message_channels = 32;

/// The members' blocks of a part of a sum. Programs of plans do not name them where they are shards:
/// there they are as good as equal if this rank's is its share of all.
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

/// How one group of a program exchanges.
struct GroupUse {
    bool has_collectives = false;
    bool has_pieces = false;                     ///< sums of received pieces
    std::set<std::pair<int, OpKind>> ways = {};  ///< messages, by the other end and their direction
};

std::vector<GroupUse> uses_of_groups(const Program& program) {
    std::vector<GroupUse> uses(program.groups.size());
    for (const auto& op : program.ops) {
        if (op.kind == OpKind::send || op.kind == OpKind::receive) {
            uses.at(static_cast<std::size_t>(op.group)).ways.emplace(op.peer, op.kind);
        }
        const bool is_sum = op.kind == OpKind::reduce_scatter || op.kind == OpKind::all_reduce;
        if (!is_sum && op.kind != OpKind::all_gather) {
            continue;
        }
        const auto group = static_cast<std::size_t>(op.group);
        auto& use = uses.at(group);
        use.has_collectives = true;
        for (std::size_t part = 0; is_sum && !use.has_pieces && part < op.writes.size(); ++part) {
            use.has_pieces =
                layout::is_summed_in_pieces(op.payload, blocks_of(op, part, program.groups.at(group).size()));
        }
    }
    return uses;
}

void add(LibraryMemory& memory, const Program& program) {
    for (const auto& use : uses_of_groups(program)) {
        memory.exchange += use.has_pieces ? layout::nccl_scratch_bytes : 0;
        memory.communicators += use.has_collectives ? group_bytes : 0;
        for (const auto& [peer, kind] : use.ways) {
            memory.communicators +=
                message_channels * (kind == OpKind::receive ? receiving_bytes : sending_bytes);
        }
    }
}

}  // namespace

LibraryMemory library_memory(const spec::RunSpec& spec, std::span<const Program* const> programs) {
    LibraryMemory memory{.kernels = layout::make_workspaces(spec, true)->libraries()};
    if (spec.tiers.device == spec::DeviceKind::cuda && spec.parallel.transport == spec::Transport::nccl) {
        for (const auto* program : programs) {
            add(memory, *program);
        }
    }
    return memory;
}

}  // namespace ziggurat::plan
