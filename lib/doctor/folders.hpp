/// Judgements of folders: the disk below, room, locks, and whether bytes go around the page cache.
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
    given,  ///< by its name alone: either of them
};

/// What was tried in a folder.
struct FolderFacts {
    std::string path = {};
    FolderUse use = FolderUse::given;
    std::string problem = {};  ///< the system's reason why no file can be made there; empty: one was
    std::string stands_in =
        {};  ///< the folder above where it would be made, which was tried; empty: it is there
    std::string file_system = {};  ///< `ext4`, or a number where it has no name
    bool is_network = false;
    bool is_memory = false;
    std::int64_t free_bytes = 0;
    bool has_size = true;             ///< the file system says how much it holds
    std::int64_t needed_bytes = 0;    ///< 0: unknown
    std::string why_not_direct = {};  ///< empty: a block went to the disk and came back around the page cache
    std::string damage = {};          ///< how what came back differs; empty: it does not
};

/// The place, the room, the kind of disk.
Diagnosis judge_folder(const FolderFacts& facts);

/// O_DIRECT. The program does without where a file system has none, so that is a warning.
Diagnosis judge_direct(const FolderFacts& facts);

/// A run's folder as the nodes of a job see it.
struct SharedFolderFacts {
    /// A node on which what another has made there is not seen.
    struct Elsewhere {
        std::string host = {};
        std::string reason = {};
    };

    std::string path = {};
    int num_nodes = 1;
    std::vector<Elsewhere> unseen = {};
};

/// Checkpoints are pieces of all nodes in one folder.
Diagnosis judge_shared_folder(const SharedFolderFacts& facts);

/// Locks of files, as HDF5 takes them.
struct LockFacts {
    std::string path = {};
    std::string problem = {};   ///< the system's reason why a file cannot be locked; empty: it can
    bool has_no_locks = false;  ///< that reason is that the file system has none (ENOSYS)
    std::string setting = {};   ///< of HDF5_USE_FILE_LOCKING; empty: not set
    bool asks_for_none = true;  ///< the program asks its HDF5 for no locks
};

Diagnosis judge_locks(const LockFacts& facts);

}  // namespace ziggurat::doctor
