#include "comm/node/peer_arenas.hpp"

#include <functional>
#include <utility>

namespace ziggurat::comm {

void PeerArenas::add(std::vector<std::span<std::byte>> by_local_rank) {
    arenas_.push_back(std::move(by_local_rank));
}

ArenaAddress PeerArenas::find(int local_rank, const std::byte* address, std::int64_t bytes) const noexcept {
    const std::less_equal<> not_after;  // pointers of different arrays
    for (std::size_t arena = 0; arena < arenas_.size(); ++arena) {
        const auto& memory = arenas_[arena][local_rank];
        const std::byte* begin = memory.data();
        if (bytes == 0 || (!memory.empty() && not_after(begin, address) &&
                           not_after(address + bytes, begin + memory.size()))) {
            return {static_cast<std::int32_t>(arena), bytes == 0 ? 0 : address - begin};
        }
    }
    return {};
}

}  // namespace ziggurat::comm
