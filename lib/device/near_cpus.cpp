#include "device/near_cpus.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace ziggurat::device {
namespace {

/// CPUs that the calling thread may use, in ascending order.
std::vector<int> usable_cpus() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    std::vector<int> usable;
    if (::sched_getaffinity(0, sizeof mask, &mask) == 0) {
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &mask)) {
                usable.push_back(cpu);
            }
        }
    }
    return usable;
}

bool bind_to(const std::vector<int>& cpus) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const int cpu : cpus) {
        CPU_SET(cpu, &mask);
    }
    return ::sched_setaffinity(0, sizeof mask, &mask) == 0;
}

}  // namespace

std::vector<int> near_cpus(const std::string& pci_id, const std::string& system) {
    std::ifstream list{system + "/bus/pci/devices/" + pci_id + "/local_cpulist"};  // such as 0-31,64-95
    std::vector<int> cpus;
    for (int first = 0; list >> first;) {
        int last = first;
        if (list.peek() == '-') {
            list.get();
            list >> last;
        }
        for (int cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu) {
            cpus.push_back(cpu);
        }
        if (list.peek() == ',') {
            list.get();
        }
    }
    return cpus;
}

Binding bind_near(const std::string& pci_id, int threads, const std::string& system) {
    const auto near = near_cpus(pci_id, system);
    if (near.empty()) {
        return Binding::unknown;
    }
    const auto usable = usable_cpus();
    std::vector<int> both;
    std::ranges::set_intersection(usable, near, std::back_inserter(both));
    if (both.empty()) {
        return Binding::far;
    }
    if (both.size() == usable.size()) {
        return Binding::near;
    }
    if (static_cast<int>(both.size()) < threads) {
        return Binding::too_few;
    }
    return bind_to(both) ? Binding::near : Binding::unknown;
}

}  // namespace ziggurat::device
