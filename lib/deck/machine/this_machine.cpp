#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "deck/machine/machine.hpp"

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

/// The smallest limit of the groups `group` (`/a/b`) and those around it, in files `name` below `root`.
std::int64_t smallest_limit(const std::string& root, std::string group, const char* name) {
    std::int64_t smallest = limit_in(root + "/" + name);
    for (; group.size() > 1; group.resize(group.rfind('/'))) {
        smallest = std::min(smallest, limit_in(root + group + "/" + name));
    }
    return smallest;
}

/// The memory that the process's control groups grant, of version 1 or 2.
///
/// Source: cgroups(7): lines `0::/group` are of version 2, those that name the controller of version 1
std::int64_t cgroup_bytes() {
    std::int64_t smallest = INT64_MAX;
    std::ifstream own{"/proc/self/cgroup"};
    for (std::string line; std::getline(own, line);) {
        const auto controllers = line.find(':');
        const auto group = line.find(':', controllers + 1);
        if (controllers == std::string::npos || group == std::string::npos) {
            continue;
        }
        const auto names = "," + line.substr(controllers + 1, group - controllers - 1) + ",";
        if (names == ",,") {
            smallest =
                std::min(smallest, smallest_limit("/sys/fs/cgroup", line.substr(group + 1), "memory.max"));
        } else if (names.find(",memory,") != std::string::npos) {
            smallest = std::min(smallest, smallest_limit("/sys/fs/cgroup/memory", line.substr(group + 1),
                                                         "memory.limit_in_bytes"));
        }
    }
    return smallest;
}

}  // namespace

std::int64_t free_bytes(const std::vector<std::string>& folders) {
    std::set<dev_t> seen;
    std::int64_t bytes = 0;
    for (const std::string& folder : folders) {
        struct stat folder_facts {};
        struct statvfs space {};
        if (::stat(folder.c_str(), &folder_facts) == 0 && seen.insert(folder_facts.st_dev).second &&
            ::statvfs(folder.c_str(), &space) == 0) {
            if (space.f_blocks == 0) {
                return spec::unknown_space;
            }
            bytes += static_cast<std::int64_t>(space.f_bavail) * static_cast<std::int64_t>(space.f_frsize);
        }
    }
    return bytes;
}

spec::MachineSpec this_machine(const device::Discovery& devices) {
    const std::int64_t installed =
        static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
    return {.name = "this machine",
            .has_device = devices.count > 0,
            .ranks_per_node = 1,
            .cores_per_node = usable_cores(),
            .device_bytes = devices.bytes,
            .host_bytes = std::min(installed, cgroup_bytes())};
}

}  // namespace ziggurat::deck
