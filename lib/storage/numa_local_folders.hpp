/// Folders on disks that are on the NUMA node of a process.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ziggurat::storage {

/// Returns the NUMA node of the disks of `folder`; nullopt if it is not known, or if the disks differ.
///
/// \param system  where sysfs is mounted
std::optional<int> numa_node_of_disk(const std::string& folder, const std::string& system = "/sys");

/// Returns the NUMA node of all CPUs that this process may use; nullopt if there are several.
std::optional<int> numa_node_of_process(const std::string& system = "/sys");

struct NumaLocalFolders {
    std::vector<std::string> folders;
    std::string numa_reason;  ///< reason why all folders are used instead of the local ones
};

/// Returns the folders on `node`; all folders if the node is unknown or has no folder.
///
/// \param nodes  node of each folder
NumaLocalFolders choose_near(const std::vector<std::string>& folders,
                             std::span<const std::optional<int>> nodes,
                             std::optional<int> node);

/// Returns choose_near() for this process. On a machine with one NUMA node, all folders are local.
NumaLocalFolders near_folders(const std::vector<std::string>& folders, const std::string& system = "/sys");

}  // namespace ziggurat::storage
