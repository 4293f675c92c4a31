#include <fmt/format.h>

#include <string>

#include "deck/resolve/resolve.hpp"

namespace ziggurat::deck {
namespace {

constexpr const char* key = "parallel.transport";

/// Reason why NCCL cannot be used, and what to do; empty if it can.
struct Obstacle {
    std::string reason;
    std::string advice;
};

Obstacle find_obstacle(const Resolution& resolution) {
    const int ranks_on_device = resolution.options.ranks_per_device;
    if (resolution.run.tiers.device == spec::DeviceKind::host) {
        return {"the host's cores compute, and NCCL needs GPUs", "Set transport: auto."};
    }
    if (!resolution.options.has_nccl) {
        return {"this program was built without it", "Build it with NCCL, or set transport: staged."};
    }
    if (ranks_on_device > 1) {
        return {fmt::format("{} ranks share a GPU, and NCCL needs one per rank", ranks_on_device),
                "Start one rank per GPU, or set transport: staged."};
    }
    return {};
}

}  // namespace

void resolve_transport(Resolution& resolution) {
    Values& values = resolution.values;
    const auto [obstacle, advice] = find_obstacle(resolution);
    bool takes_nccl = obstacle.empty() && values.is_keyword(key, "nccl");
    if (resolution.is_auto(key)) {
        const bool is_alone = resolution.run.parallel.ranks == 1;
        takes_nccl = obstacle.empty() && !is_alone;
        values.set_resolved(key, {}, takes_nccl ? "nccl" : "staged",
                            takes_nccl ? "each rank has a GPU of its own"
                            : is_alone ? "one rank: no communication"
                                       : obstacle);
    } else if (values.is_keyword(key, "nccl") && !obstacle.empty() && !resolution.options.as_record) {
        resolution.found.error(values.location(key), "NCCL cannot be used", obstacle, advice);
    }
    resolution.run.parallel.transport = takes_nccl ? spec::Transport::nccl : spec::Transport::staged;
}

}  // namespace ziggurat::deck
