#include "comm/device_collectives.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"
#include "comm/make_collectives.hpp"
#include "comm/nccl.hpp"
#include "comm/staged_collectives.hpp"

namespace ziggurat::comm {

std::unique_ptr<Collectives> make_device_collectives(const Communicator& members,
                                                     NodeMemory& node,
                                                     const std::string& name,
                                                     std::span<const device::Arena> arenas,
                                                     device::Device& device,
                                                     spec::Transport transport) {
    auto made = make_collectives(members, node, name);
    if constexpr (has_nccl) {
        if (transport == spec::Transport::nccl) {
            return make_nccl_collectives(members, name, std::move(made), arenas, device, node);
        }
    }
    ZG_EXPECTS(transport == spec::Transport::staged);
    if (std::ranges::any_of(arenas, [](const auto& arena) { return arena.is_staged(); })) {
        made = std::make_unique<StagedCollectives>(std::move(made), arenas, device.make_stream(), node);
    }
    return made;
}

}  // namespace ziggurat::comm
