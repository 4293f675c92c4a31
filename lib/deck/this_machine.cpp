#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "deck/machine.hpp"

namespace ziggurat::deck {
namespace {

/// Processors that this process may use.
int usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    return count > 0 ? count : static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

/// The number in a cgroup's file; the highest number where there is no file or it says "max".
std::int64_t limit_in(const std::string& path) {
    std::ifstream file{path};
    std::int64_t bytes = 0;
    return file >> bytes ? bytes : INT64_MAX;
}

/// The smallest memory limit of the process's cgroup (version 2) and those around it.
std::int64_t cgroup_bytes() {
    std::int64_t smallest = std::min(limit_in("/sys/fs/cgroup/memory.max"),
                                     limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    std::ifstream own{"/proc/self/cgroup"};
    for (std::string line; std::getline(own, line);) {
        if (!line.starts_with("0::/")) {
            continue;
        }
        for (std::string group = line.substr(3); group.size() > 1; group.resize(group.rfind('/'))) {
            smallest = std::min(smallest, limit_in("/sys/fs/cgroup" + group + "/memory.max"));
        }
    }
    return smallest;
}

}  // namespace

spec::MachineSpec this_machine() {
    const std::int64_t installed =
        static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
    return {.name = "this machine",
            .has_device = false,
            .ranks_per_node = 1,
            .cores_per_node = usable_cores(),
            .host_bytes = std::min(installed, cgroup_bytes())};
}

}  // namespace ziggurat::deck
