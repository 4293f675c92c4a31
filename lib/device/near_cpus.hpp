/// CPUs on the socket of a GPU.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::device {

/// Returns the CPUs that share a NUMA node with a PCI device, in ascending order.
///
/// Empty if the system does not list them.
///
/// \param pci_id  such as 0000:17:00.0
/// \param system  mount point of sysfs
std::vector<int> near_cpus(const std::string& pci_id, const std::string& system = "/sys");

enum class Binding {
    unknown,  ///< the system does not list CPUs near the GPU
    near,     ///< the thread uses CPUs near the GPU only
    far,      ///< the launcher bound the thread to other CPUs
    too_few,  ///< fewer CPUs near the GPU than threads: the thread is not bound
};

/// Binds the calling thread, and threads that it starts later, to those of its CPUs near the GPU.
///
/// Memory that they touch first then lies next to the GPU as well.
///
/// \param threads  number of compute threads; each needs its own CPU
Binding bind_near(const std::string& pci_id, int threads, const std::string& system = "/sys");

}  // namespace ziggurat::device
