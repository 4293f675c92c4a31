#include "plan/gpu/nccl_room.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "layout/cuda_workspaces.hpp"
#include "layout/nccl_blocks.hpp"
#include "plan/gpu/group_uses.hpp"

namespace ziggurat::plan {

std::vector<CommunicatorBlocks> communicator_blocks(const spec::RunSpec& spec,
                                                    const schedule::Program& program) {
    if (spec.tiers.device != spec::DeviceKind::cuda || spec.parallel.transport != spec::Transport::nccl) {
        return {};
    }
    std::vector<CommunicatorBlocks> communicators;
    const auto uses = uses_of_groups(program);
    for (std::size_t g = 0; g < uses.size(); ++g) {
        const auto& name = program.groups[g].name;
        if (uses[g].has_collectives) {
            communicators.push_back({name, layout::max_blocks_of_group});
        }
        for (const auto& [peer, kind] : uses[g].links) {
            communicators.push_back({name + " " + to_string(kind), layout::max_blocks_of_pair});
        }
    }
    return communicators;
}

int blocks_of_all(const std::vector<CommunicatorBlocks>& communicators) {
    return std::accumulate(communicators.begin(), communicators.end(), 0,
                           [](int sum, const CommunicatorBlocks& of) { return sum + of.blocks; });
}

int multiprocessors_of(const spec::MachineSpec& machine) {
    return machine.device_multiprocessors > 0 ? machine.device_multiprocessors
                                              : static_cast<int>(layout::CudaWorkspaces::multiprocessors);
}

std::string thread_blocks_problem(const std::vector<CommunicatorBlocks>& communicators,
                                  const spec::MachineSpec& machine) {
    const int needed = blocks_of_all(communicators);
    const int available = multiprocessors_of(machine);
    if (needed <= available) {
        return "";
    }
    std::string list;
    for (const auto& of : communicators) {
        list += (list.empty() ? "" : ", ") + fmt::format("{} {}", of.name, of.blocks);
    }
    const auto max_each = available / static_cast<int>(communicators.size());
    const auto remedy =
        max_each > 0 ? fmt::format("set NCCL_MAX_CTAS={} in the environment of all ranks, or ", max_each)
                     : std::string{};
    return fmt::format(
        "the communicators of a rank may hold {} thread blocks at once ({}): a GPU of {} has {} "
        "multiprocessors{}, and ranks deadlock if the kernels do not all fit. "
        "Use fewer axes of `parallel` or equal spans of `sharding`, {}set parallel.transport: staged.",
        needed, list, machine.name, available,
        machine.device_multiprocessors > 0 ? "" : " (assumed: H100; not in the machine file)", remedy);
}

}  // namespace ziggurat::plan
