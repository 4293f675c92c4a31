/// Trial of a folder: a file is made there, written and read around the page cache, and locked; then it is
/// gone.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::storage {

/// The file system below a folder.
struct FileSystem {
    std::string name = {};    ///< `ext4`; `type 0x1234` where it is not known
    bool is_network = false;  ///< other machines may see it
    bool is_memory = false;
    bool has_size = true;  ///< says how much it holds
    std::int64_t free_bytes = 0;
};

/// Of a folder that is there; without a name where the system does not say.
FileSystem file_system_of(const std::string& folder) noexcept;

/// What happened to a file in a folder. A reason that is empty: nothing went wrong.
struct FolderTrial {
    std::string why_no_file = {};
    std::string why_not_direct = {};
    std::string damage = {};       ///< how the block that came back differs
    std::string why_no_lock = {};  ///< the system's reason against flock(), with which HDF5 locks
    bool has_no_locks = false;     ///< that reason is ENOSYS
};

/// Writes one block of a file that is gone when this returns, however it ends.
FolderTrial try_folder(const std::string& folder);

/// Version of HDF5, for people: of the headers that this was compiled with, and of the library.
std::string hdf5_headers();
std::string hdf5_running();
/// Whether files are opened without locks of HDF5's, unless its environment variable demands them.
bool asks_hdf5_for_no_locks();

}  // namespace ziggurat::storage
