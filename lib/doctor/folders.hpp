/// Checks of folders: disk, free space, file locks, and direct I/O.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "doctor/diagnosis.hpp"

namespace ziggurat::doctor {

/// Use that a folder is checked for.
enum class FolderUse {
    run,    ///< run.dir of a deck
    nvme,   ///< one of tiers.nvme.paths
    given,  ///< named on the command line: either use
};

/// Results of the probes in one folder.
struct FolderFacts {
    std::string path = {};
    FolderUse use = FolderUse::given;
    std::string problem = {};  ///< system error of creating a file there; empty if it succeeded
    /// Existing parent folder that was probed instead, because the folder does not exist yet; else empty.
    std::string stands_in = {};
    std::string file_system = {};  ///< `ext4`, or a number if its name is unknown
    bool is_network = false;
    bool is_memory = false;
    std::int64_t free_bytes = 0;
    bool has_size = true;                ///< the file system reports its size
    std::int64_t needed_bytes = 0;       ///< 0: unknown
    std::string not_direct_reason = {};  ///< reason; empty if a block was written and read with O_DIRECT
    std::string damage = {};  ///< difference between the data written and read back; empty if equal
};

/// Checks that the folder is writable and has enough space, and the kind of its disk.
Diagnosis diagnose_folder(const FolderFacts& facts);

/// Checks O_DIRECT. Ziggurat also works without it, so its absence is only a warning.
Diagnosis diagnose_direct(const FolderFacts& facts);

/// A run's folder as seen by the nodes of a job.
struct SharedFolderFacts {
    /// A node that does not see a file created by another node.
    struct Elsewhere {
        std::string host = {};
        std::string reason = {};
    };

    std::string path = {};
    int num_nodes = 1;
    std::vector<Elsewhere> unseen = {};
};

/// Checks that all nodes see one run folder: a checkpoint consists of pieces from all nodes.
Diagnosis diagnose_shared_folder(const SharedFolderFacts& facts);

/// Facts about file locks, which HDF5 takes when it opens a file.
struct LockFacts {
    std::string path = {};
    std::string problem = {};   ///< system error of locking a file; empty if it succeeded
    bool has_no_locks = false;  ///< the file system does not support locks (ENOSYS)
    std::string setting = {};   ///< value of HDF5_USE_FILE_LOCKING; empty if not set
    bool asks_for_none = true;  ///< the program disables locks in its own HDF5
};

Diagnosis diagnose_locks(const LockFacts& facts);

}  // namespace ziggurat::doctor
