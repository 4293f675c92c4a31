/// Checks of process limits: open files, locked memory, memory, /dev/shm.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "doctor/diagnosis.hpp"

namespace ziggurat::doctor {

/// Value of a limit that is not set.
constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// A limit of the shell's `ulimit`: the current value, and the maximum that the user may set.
struct Limit {
    std::int64_t now = no_limit;
    std::int64_t max = no_limit;
};

/// Checks the limit of open files for a job of `num_ranks` ranks.
///
/// Each rank opens connections to others, token files, and its own files.
Diagnosis diagnose_open_files(Limit files, int num_ranks);

/// Checks the limit of locked memory.
///
/// \param fabric  network card that registers memory (`mlx5_0`); empty if there is no such card
Diagnosis diagnose_locked_memory(Limit bytes, const std::string& fabric);

/// Memory of a machine and of the control group that this process belongs to.
struct MemoryFacts {
    std::int64_t installed_bytes = 0;
    std::int64_t available_bytes = 0;       ///< on the machine, without swapping
    std::int64_t granted_bytes = no_limit;  ///< limit of the group
    std::int64_t used_bytes = 0;            ///< in the group, without memory that the kernel can reclaim
    int cores = 1;                          ///< cores that this process may use
    int machine_cores = 1;
};

/// Checks memory and the limit of the control group.
///
/// A group with a smaller share of the memory than of the cores usually means a forgotten memory request.
Diagnosis diagnose_memory(const MemoryFacts& facts);

/// State of /dev/shm, or the reason why it cannot be used.
struct SharedMemoryFacts {
    std::string problem = {};  ///< system error; empty if a file could be created and written
    std::int64_t free_bytes = 0;
    std::int64_t size_bytes = 0;
    bool has_size = true;
    int ranks = 1;  ///< ranks on this node
};

/// Checks /dev/shm, which holds the messages of MPI and NCCL between ranks of a node.
Diagnosis diagnose_shared_memory(const SharedMemoryFacts& facts);

}  // namespace ziggurat::doctor
