#include "device/spread_ranks.hpp"

#include <cstddef>
#include <map>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::device {

std::vector<RankDevice> spread_ranks(const std::vector<VisibleDevices>& by_rank) {
    using Key = std::pair<std::string, std::vector<std::string>>;
    std::map<Key, int> taken;
    std::map<std::pair<std::string, std::string>, int> ranks_of_device;  // by host and id
    std::vector<RankDevice> devices;
    for (const auto& [host, ids] : by_rank) {
        ZG_EXPECTS(!ids.empty());
        const int index = taken[{host, ids}]++ % static_cast<int>(ids.size());
        ++ranks_of_device[{host, ids[index]}];
        devices.push_back({.index = index});
    }
    for (std::size_t rank = 0; rank < devices.size(); ++rank) {
        const auto& [host, ids] = by_rank[rank];
        devices[rank].ranks_on_device = ranks_of_device[{host, ids[devices[rank].index]}];
    }
    return devices;
}

}  // namespace ziggurat::device
