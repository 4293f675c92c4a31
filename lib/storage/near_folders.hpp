/// Folders on disks that are close to the processors of a process.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ziggurat::storage {

/// The NUMA node of the disk, or of all the disks, that `folder` lies on; nothing where the system does not
/// say, or they differ.
///
/// \param system  where sysfs is mounted
std::optional<int> numa_node_of_disk(const std::string& folder, const std::string& system = "/sys");

/// The NUMA node of all processors that this process may use; nothing when there are several.
std::optional<int> numa_node_of_process(const std::string& system = "/sys");

struct NearFolders {
    std::vector<std::string> folders;
    std::string why_not_near;  ///< when these are all folders, although they were not to be
};

/// Those of `folders` on `node`; all of them where that is not known or there are none.
///
/// \param nodes  of each folder
NearFolders choose_near(const std::vector<std::string>& folders,
                        std::span<const std::optional<int>> nodes,
                        std::optional<int> node);

/// The same for this process. On a machine with one NUMA node all folders are near.
NearFolders near_folders(const std::vector<std::string>& folders, const std::string& system = "/sys");

}  // namespace ziggurat::storage
