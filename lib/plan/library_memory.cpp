#include "plan/library_memory.hpp"

#include <map>

#include "layout/nccl_sums.hpp"
#include "layout/workspaces.hpp"
#include "plan/gpu/group_uses.hpp"
#include "schedule/group_key.hpp"

namespace ziggurat::plan {
namespace {

using schedule::OpKind;
using schedule::Program;

// Memory that NCCL uses on a GPU for a channel of one connection: buffers of its three protocols, of 4 MiB
// (the default of NCCL_BUFFSIZE), 4.7 MiB and 0.5 MiB, in pages of 2 MiB on the receiving GPU; one page on
// the sending GPU. Observed as allocations of 10,485,760 and 2,097,152 bytes (NCCL, issue 1685).
constexpr std::int64_t receiving_bytes = std::int64_t{10} << 20;
constexpr std::int64_t sending_bytes = std::int64_t{2} << 20;
/// Channels of a communicator of collectives. With NVLink between GPUs, a ring and a tree connect two
/// neighbours in both directions, which makes 576 MiB; 544 to 688 MiB were measured on A100s (NCCL, issue
/// 964). If all members send pieces to each other, it can be more: 3.3 GB were observed on each of eight H100
/// (issue 1685).
constexpr std::int64_t group_channels = 24;
constexpr std::int64_t group_bytes = group_channels * 2 * (receiving_bytes + sending_bytes);
/// Channels of a communicator for messages in one direction between two ranks.
constexpr std::int64_t message_channels = 32;

/// Returns the uses of each group in all programs.
std::map<schedule::GroupKey, GroupUse> uses_in(std::span<const Program* const> programs) {
    std::map<schedule::GroupKey, GroupUse> uses;
    for (const auto* program : programs) {
        const auto of_program = uses_of_groups(*program);
        for (std::size_t g = 0; g < of_program.size(); ++g) {
            auto& use = uses[key_of(program->groups[g])];
            use.has_collectives = use.has_collectives || of_program[g].has_collectives;
            use.has_pieces = use.has_pieces || of_program[g].has_pieces;
            use.links.insert(of_program[g].links.begin(), of_program[g].links.end());
        }
    }
    return uses;
}

}  // namespace

LibraryMemory library_memory(const spec::RunSpec& spec, std::span<const Program* const> programs) {
    LibraryMemory memory{.kernels = layout::make_workspaces(spec, true)->libraries()};
    if (spec.tiers.device == spec::DeviceKind::cuda && spec.parallel.transport == spec::Transport::nccl) {
        for (const auto& [group, use] : uses_in(programs)) {
            memory.exchange += use.has_pieces ? layout::nccl_scratch_bytes : 0;
            memory.communicators += use.has_collectives ? group_bytes : 0;
            for (const auto& [peer, kind] : use.links) {
                memory.communicators +=
                    message_channels * (kind == OpKind::receive ? receiving_bytes : sending_bytes);
            }
        }
    }
    return memory;
}

}  // namespace ziggurat::plan
