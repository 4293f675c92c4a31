/// Judgements of limits that the system sets to a process: open files, locked memory, memory, /dev/shm.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "doctor/diagnosis.hpp"

namespace ziggurat::doctor {

/// Of a limit that is none.
constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// A limit of the shell's `ulimit`: in force, and the most that the user may raise it to.
struct Limit {
    std::int64_t now = no_limit;
    std::int64_t most = no_limit;
};

/// `files`, for a job of so many ranks: each has connections to others, files of tokens, and its own.
Diagnosis judge_open_files(Limit files, int num_ranks);

/// \param fabric  the network that registers memory with a card (`mlx5_0`); empty: there is none
Diagnosis judge_locked_memory(Limit bytes, const std::string& fabric);

/// Memory of a machine and of the control group that this process belongs to.
struct MemoryFacts {
    std::int64_t installed_bytes = 0;
    std::int64_t available_bytes = 0;       ///< of the machine, without swapping
    std::int64_t granted_bytes = no_limit;  ///< by the group
    std::int64_t used_bytes = 0;            ///< in the group, without what the kernel gives back by itself
    int cores = 1;                          ///< that this process may use
    int machine_cores = 1;
};

/// A group that grants less than the process's part of the cores is most often a request that was forgotten.
Diagnosis judge_memory(const MemoryFacts& facts);

/// /dev/shm, or why it cannot be used.
struct SharedMemoryFacts {
    std::string problem = {};  ///< the system's reason; empty: a file could be made and written
    std::int64_t free_bytes = 0;
    std::int64_t size_bytes = 0;
    bool has_size = true;
    int ranks = 1;  ///< of this node
};

/// MPI's messages between ranks of a node lie there; so does what NCCL sends.
Diagnosis judge_shared_memory(const SharedMemoryFacts& facts);

}  // namespace ziggurat::doctor
