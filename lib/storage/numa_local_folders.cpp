#include "storage/numa_local_folders.hpp"

#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

namespace ziggurat::storage {
namespace {

namespace fs = std::filesystem;

/// Reads a number from a file of sysfs; nullopt if it does not exist, or is negative (unknown).
std::optional<int> number_in(const fs::path& file) {
    std::ifstream stream{file};
    int number = -1;
    return stream >> number && number >= 0 ? std::optional{number} : std::nullopt;
}

std::optional<int> numa_node_of_device(const fs::path& device);

/// Returns the NUMA node of a device that consists of others, such as a RAID or an encrypted volume.
std::optional<int> numa_node_of_slaves(const fs::path& device) {
    std::error_code error;
    std::set<std::optional<int>> nodes;
    for (const auto& slave : fs::directory_iterator{device / "slaves", error}) {
        nodes.insert(numa_node_of_device(slave.path()));
    }
    return nodes.size() == 1 ? *nodes.begin() : std::nullopt;
}

std::optional<int> numa_node_of_device(const fs::path& device) {
    std::error_code error;
    const auto place = fs::canonical(device, error);
    if (error) {
        return std::nullopt;
    }
    // A partition is below its disk, and the disk is below its controller, which has the NUMA node.
    for (auto at = place; at.has_relative_path(); at = at.parent_path()) {
        if (fs::exists(at / "numa_node", error)) {
            return number_in(at / "numa_node");
        }
    }
    return numa_node_of_slaves(place);
}

/// Returns the numbers of the NUMA nodes of the machine.
std::set<int> nodes_of_machine(const fs::path& system) {
    std::set<int> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator{system / "devices/system/node", error}) {
        const auto name = entry.path().filename().string();
        if (name.starts_with("node") && name.find_first_not_of("0123456789", 4) == std::string::npos) {
            found.insert(std::stoi(name.substr(4)));
        }
    }
    return found;
}

/// Returns true if CPU `cpu` belongs to `node` according to sysfs.
bool has_processor(const fs::path& system, int node, int cpu) {
    std::error_code error;
    return fs::exists(
        system / "devices/system/node" / ("node" + std::to_string(node)) / ("cpu" + std::to_string(cpu)),
        error);
}

}  // namespace

std::optional<int> numa_node_of_disk(const std::string& folder, const std::string& system) {
    struct stat status = {};
    if (::stat(folder.c_str(), &status) != 0) {
        return std::nullopt;
    }
    const auto name = std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
    return numa_node_of_device(fs::path{system} / "dev/block" / name);
}

std::optional<int> numa_node_of_process(const std::string& system) {
    cpu_set_t usable;
    CPU_ZERO(&usable);
    if (::sched_getaffinity(0, sizeof usable, &usable) != 0) {
        return std::nullopt;
    }
    std::set<int> mine;
    for (const int node : nodes_of_machine(system)) {
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
            if (CPU_ISSET(cpu, &usable) && has_processor(system, node, cpu)) {
                mine.insert(node);
                break;
            }
        }
    }
    return mine.size() == 1 ? std::optional{*mine.begin()} : std::nullopt;
}

NumaLocalFolders choose_near(const std::vector<std::string>& folders,
                             std::span<const std::optional<int>> nodes,
                             std::optional<int> node) {
    if (!node) {
        return {folders, "a rank may run on CPUs of several NUMA nodes; bind each rank to one NUMA node"};
    }
    NumaLocalFolders near;
    for (std::size_t i = 0; i < folders.size(); ++i) {
        if (nodes[i] == node) {
            near.folders.push_back(folders[i]);
        }
    }
    if (near.folders.empty()) {
        return {folders, "no disk of tiers.nvme.paths is known to be on NUMA node " + std::to_string(*node)};
    }
    return near;
}

NumaLocalFolders near_folders(const std::vector<std::string>& folders, const std::string& system) {
    if (nodes_of_machine(system).size() <= 1) {
        return {folders, {}};
    }
    std::vector<std::optional<int>> nodes;
    for (const auto& folder : folders) {
        nodes.push_back(numa_node_of_disk(folder, system));
    }
    return choose_near(folders, nodes, numa_node_of_process(system));
}

}  // namespace ziggurat::storage
