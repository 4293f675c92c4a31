#include "state/tier_memory.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "base/contract.hpp"

namespace ziggurat::state {
namespace {

std::int64_t most_bytes(const std::vector<const schedule::Program*>& programs, spec::Tier tier) {
    std::int64_t most = 0;
    for (const auto* program : programs) {
        most = std::max(most, program->arena_bytes[static_cast<std::size_t>(tier)]);
    }
    return most;
}

/// Every persistent buffer that several programs name lies at one place.
void check_shared_places(const std::vector<const schedule::Program*>& programs) {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> places;
    for (const auto* program : programs) {
        for (const auto& buffer : program->buffers) {
            if (buffer.lifetime != schedule::Lifetime::persistent) {
                continue;
            }
            const auto place = std::make_pair(buffer.offset, buffer.bytes);
            const auto [at, is_new] = places.emplace(buffer.name, place);
            ZG_EXPECTS(is_new || at->second == place);
        }
    }
}

}  // namespace

TierMemory::TierMemory(const std::vector<const schedule::Program*>& programs)
    : arenas_{device::Arena{most_bytes(programs, spec::Tier::device), "the device tier"},
              device::Arena{most_bytes(programs, spec::Tier::host), "the host tier"},
              device::Arena{0, "the NVMe tier"}} {
    check_shared_places(programs);
}

std::array<std::byte*, 3> TierMemory::arenas() const noexcept {
    return {arenas_[0].data(), arenas_[1].data(), arenas_[2].data()};
}

std::byte* TierMemory::at(const schedule::Buffer& buffer) const {
    ZG_EXPECTS(buffer.offset >= 0);
    return arenas_[static_cast<std::size_t>(buffer.tier)].data() + buffer.offset;
}

}  // namespace ziggurat::state
