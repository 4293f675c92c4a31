#include "app/bench/local_device.hpp"

#include <fmt/format.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "comm/control.hpp"
#include "comm/node_topology.hpp"

namespace ziggurat::app {
namespace {

/// Parses the host, followed by the ids of its devices.
device::VisibleDevices seen_from(const std::string& text) {
    std::istringstream values{text};
    device::VisibleDevices seen;
    values >> seen.host;
    for (std::string id; values >> id;) {
        seen.ids.push_back(std::move(id));
    }
    return seen;
}

/// Returns index and number of sharing ranks of each rank's device. Called on the first rank.
std::string write_devices(const std::vector<std::string>& texts) {
    std::vector<device::VisibleDevices> by_rank;
    by_rank.reserve(texts.size());
    for (const auto& text : texts) {
        by_rank.push_back(seen_from(text));
    }
    std::string written;
    for (const auto& [index, ranks_on_device] : device::spread_ranks(by_rank)) {
        written += fmt::format("{} {} ", index, ranks_on_device);
    }
    return written;
}

}  // namespace

device::RankDevice find_local_device(const comm::Context& world, const device::Discovery& devices) {
    if (!comm::all_agree(world, devices.count > 0)) {
        return {};
    }
    const auto texts =
        comm::gather(world, fmt::format("{} {}", comm::machine_name(), fmt::join(devices.ids, " ")));
    std::istringstream numbers{comm::broadcast(world, world.rank() == 0 ? write_devices(texts) : "")};
    device::RankDevice mine;
    for (int rank = 0; rank <= world.rank(); ++rank) {
        numbers >> mine.index >> mine.ranks_on_device;
    }
    return mine;
}

}  // namespace ziggurat::app
