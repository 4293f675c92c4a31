/// Probe of a folder: creates a file, writes and reads it with O_DIRECT, locks it and removes it.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::storage {

/// Properties of the file system of a folder.
struct FileSystem {
    std::string name = {};    ///< `ext4`; `type 0x1234` for an unknown type
    bool is_network = false;  ///< other machines may have access
    bool is_memory = false;
    bool has_size = true;  ///< its size is known
    std::int64_t free_bytes = 0;
};

/// Returns the file system of an existing folder; without a name if the system does not report it.
FileSystem file_system_of(const std::string& folder) noexcept;

/// Result of a probe. An empty reason means that the operation succeeded.
struct DirectoryProbe {
    std::string no_file_reason = {};
    std::string not_direct_reason = {};
    std::string damage = {};          ///< difference between the written block and the block that was read
    std::string no_lock_reason = {};  ///< reason why flock() failed; HDF5 locks files with flock()
    bool has_no_locks = false;        ///< this reason is ENOSYS
};

/// Probes a folder with one block of a file, which is removed in any case.
DirectoryProbe probe_directory(const std::string& folder);

/// Returns the version of the HDF5 headers of the build.
std::string hdf5_headers();
/// Returns the version of the HDF5 library that is loaded.
std::string hdf5_running();
/// Returns true if HDF5 opens files without locks, unless its environment variable demands them.
bool asks_hdf5_for_no_locks();

}  // namespace ziggurat::storage
