#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/control_group.hpp"
#include "deck/machine/machine.hpp"

namespace ziggurat::deck {
namespace {

/// Returns the number of cores that this process may use.
int usable_cores() {
    cpu_set_t set;
    CPU_ZERO(&set);
    const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    return count > 0 ? count : static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
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

std::int64_t process_bytes(int ranks_on_node, std::int64_t host_bytes) {
    constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
    const std::int64_t ranks = ranks_on_node;
    constexpr std::int64_t pages_of_a_page_table = 200;  // including other records of the kernel
    return 16 * mebibyte + ranks * (20 * mebibyte + ranks * mebibyte / 2) +
           host_bytes / pages_of_a_page_table;
}

spec::MachineSpec this_machine(const device::Discovery& devices) {
    const std::int64_t installed =
        static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
    return {.name = "this machine",
            .has_device = devices.count > 0,
            .no_device_reason = devices.unavailable_reason,
            .is_device_broken = devices.count == 0 && devices.is_hardware_there,
            .ranks_per_node = 1,
            .cores_per_node = usable_cores(),
            .device_bytes = devices.bytes,
            .device_multiprocessors = devices.multiprocessors,
            .device_capability = devices.capability,
            .host_bytes = std::min(installed, memory_group().granted_bytes)};
}

}  // namespace ziggurat::deck
