/// Start of a child process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace ziggurat {

/// A command and what its process gets. It has the default action of every signal, and blocks none.
struct ProcessStart {
    std::vector<std::string> command;  ///< its first word is searched on the PATH
    /// Descriptors of the standard streams; -1: /dev/null.
    int input = -1;
    int output = -1;
    int errors = -1;
    std::optional<std::vector<std::string>> environment =
        {};                        ///< `NAME=VALUE`; nullopt: that of this process
    bool has_own_session = false;  ///< a signal to the group of this process does not reach it
};

/// Starts the process. Returns its id, or -1 and sets errno.
///
/// Uses posix_spawn instead of fork, because network libraries of MPI do not survive a fork.
pid_t start_process(const ProcessStart& start) noexcept;

/// Waits for the end of a process. Returns its exit status as exit_status_of() does.
int wait_for_process(pid_t process) noexcept;

/// Returns the exit status, or 128 and the number of the signal, as shells do.
///
/// \param status  of waitpid()
int exit_status_of(int status) noexcept;

}  // namespace ziggurat
