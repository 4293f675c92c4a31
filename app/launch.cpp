#include "app/launch.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "comm/control.hpp"
#include "comm/node_topology.hpp"
#include "train/threads.hpp"

namespace ziggurat::app {
namespace {

/// A rank's place as text for a gather: host, threads asked for, limit of the control group, cores.
std::string written_place() {
    const char* asked = std::getenv("OMP_NUM_THREADS");
    std::ostringstream text;
    text << comm::machine_name() << ' ' << (asked == nullptr ? 0 : std::max(0, std::atoi(asked))) << ' '
         << train::control_group_core_limit();
    for (const int core : train::usable_cores()) {
        text << ' ' << core;
    }
    return text.str();
}

/// The threads that every rank can have.
int fewest_threads(const std::vector<std::string>& written_places) {
    std::vector<train::RankPlace> places;
    std::vector<int> limits;
    for (const std::string& written : written_places) {
        std::istringstream text{written};
        train::RankPlace place;
        int limit = 0;
        text >> place.host >> place.threads >> limit;
        for (int core = 0; text >> core;) {
            place.cores.push_back(core);
        }
        places.push_back(place);
        limits.push_back(limit);
    }
    int fewest = std::numeric_limits<int>::max();
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
        const int asked = places[rank].threads;
        const int share = train::share_of_cores(places, static_cast<int>(rank), limits[rank]);
        fewest = std::min(fewest, asked > 0 ? asked : share);
    }
    return fewest;
}

}  // namespace

deck::LoadOptions find_launch(const comm::Communicator& world) {
    const comm::NodeTopology nodes = comm::find_nodes(world, 0);
    const std::vector<std::string> places = comm::gather(world, written_place());
    std::array<std::int64_t, 2> alike{};  // threads, ranks per node
    if (world.rank() == 0) {
        alike = {fewest_threads(places), nodes.ranks_on_node};
    }
    comm::all_reduce_max(world, alike);
    return {.ranks = world.size(),
            .ranks_per_node = static_cast<int>(alike[1]),
            .threads = static_cast<int>(alike[0]),
            .machine = std::nullopt};
}

std::optional<deck::Loaded> load_on_all_ranks(const Arguments& arguments, const comm::Communicator& world) {
    const deck::LoadOptions options = find_launch(world);
    std::optional<deck::Loaded> loaded;
    std::string effective;
    if (world.rank() == 0) {
        loaded = deck::load(arguments.deck, arguments.overrides, options);
        if (loaded->found.errors() + loaded->found.warnings() > 0) {
            std::fputs(loaded->found.print().c_str(), stderr);
        }
        effective = loaded->ok() ? loaded->effective : "";
    }
    effective = comm::broadcast(world, effective);
    if (effective.empty()) {
        return std::nullopt;
    }
    if (world.rank() != 0) {
        loaded = deck::load_text(effective, "the effective deck", {}, options);
        if (!loaded->ok()) {
            throw Error{ErrorKind::internal,
                        "the effective deck of rank 0 is none here:\n" + loaded->found.print()};
        }
    }
    return loaded;
}

}  // namespace ziggurat::app
