/// spread_ranks: which device each rank computes with.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::device {

/// What a rank sees.
struct SeenDevices {
    std::string host;
    std::vector<std::string> ids;  ///< Discovery::ids

    bool operator==(const SeenDevices&) const = default;
};

struct RankDevice {
    int index = 0;    ///< of those that the rank sees
    int sharers = 1;  ///< ranks of its host that compute with the same one, itself among them

    bool operator==(const RankDevice&) const = default;
};

/// The device of each rank, in rank order. Ranks of a host that see the same devices take one after the
/// other; a launcher that leaves each rank one of its own has chosen already.
///
/// \pre every rank sees at least one
std::vector<RankDevice> spread_ranks(const std::vector<SeenDevices>& by_rank);

}  // namespace ziggurat::device
