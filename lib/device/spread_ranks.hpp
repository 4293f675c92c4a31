/// spread_ranks: assignment of devices to ranks.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::device {

/// Devices that are visible to a rank.
struct VisibleDevices {
    std::string host;
    std::vector<std::string> ids;  ///< Discovery::ids

    bool operator==(const VisibleDevices&) const = default;
};

struct RankDevice {
    int index = 0;            ///< index among the devices visible to the rank
    int ranks_on_device = 1;  ///< ranks of its host that use the same device, including itself

    bool operator==(const RankDevice&) const = default;
};

/// Returns the device of each rank, in rank order.
///
/// Ranks of a host that see the same devices take them in turn. If the launcher shows each rank only its own
/// device, that one is used.
///
/// \pre every rank sees at least one
std::vector<RankDevice> spread_ranks(const std::vector<VisibleDevices>& by_rank);

}  // namespace ziggurat::device
