#include "plan/library_memory.hpp"

#include "layout/nccl_sums.hpp"
#include "layout/workspaces.hpp"
#include "plan/gpu/group_uses.hpp"

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

void add(LibraryMemory& memory, const Program& program) {
    for (const auto& use : uses_of_groups(program)) {
        memory.exchange += use.has_pieces ? layout::nccl_scratch_bytes : 0;
        memory.communicators += use.has_collectives ? group_bytes : 0;
        for (const auto& [peer, kind] : use.links) {
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
