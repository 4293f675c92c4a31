/// State of a process according to the system.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/watch/node_status_board.hpp"

namespace ziggurat::comm {

/// Reads a file of /proc, whose size is unknown; empty if it cannot be read.
std::string read_proc_file(const std::string& path);

/// Fields of /proc/<pid>/stat (proc(5)).
struct ProcessState {
    char code = '?';                      ///< R, S, D, T, t, Z, X ...
    std::int64_t cpu_ticks = 0;           ///< user and system time of all its threads
    std::optional<int> exit_status = {};  ///< of a dead process, as from wait(2)
    /// Ticks since boot; differs for a later process with the same number.
    std::int64_t started_at = 0;

    bool is_dead() const noexcept { return code == 'Z' || code == 'X' || code == 'x'; }
    bool is_stopped() const noexcept { return code == 'T'; }
    bool is_traced() const noexcept { return code == 't'; }
};

/// Parses the text of a stat file; nullopt if it is invalid.
std::optional<ProcessState> parse_process_state(std::string_view text);

/// Returns the state of a process; nullopt if the process or /proc does not exist.
std::optional<ProcessState> process_state(pid_t pid);

/// Parses the bytes read from and written to file systems in /proc/<pid>/io (proc(5)); 0 if invalid.
std::int64_t parse_io_bytes(std::string_view text);

/// Returns these bytes of a process so far; 0 if not available.
std::int64_t process_io_bytes(pid_t pid);

/// Formats the state: `state T = stopped (SIGSTOP)`.
std::string describe(const ProcessState& state);

/// Returns a descriptor that becomes readable when the process ends, even if its number is reused.
///
/// Empty if the system does not support it (Linux before 5.3) or the process has ended.
FileHandle watch_process(pid_t pid);

/// Returns the signal that killed the process of `watched`, which has ended; nullopt if unknown.
///
/// Before Linux 6.15 it is unknown once the launcher has reaped the process.
std::optional<int> killing_signal(pid_t pid, const FileHandle& watched);

/// Returns the process whose death ends this job here; nullopt if no launcher started this process.
///
/// It is the nearest ancestor that is not itself part of a rank, as a wrapper script would be. The end of a
/// login shell does not end the job.
std::optional<pid_t> find_launcher();

}  // namespace ziggurat::comm
