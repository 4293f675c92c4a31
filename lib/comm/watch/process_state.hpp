/// State of a process, as the system tells it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/watch/machine_board.hpp"

namespace ziggurat::comm {

/// A whole file of /proc, which tells no size; empty when it cannot be read.
std::string read_proc_file(const std::string& path);

/// Of /proc/<pid>/stat (proc(5)).
struct ProcessState {
    char code = '?';                      ///< R, S, D, T, t, Z, X ...
    std::int64_t cpu_ticks = 0;           ///< user and system time of all its threads
    std::optional<int> exit_status = {};  ///< as of wait(2), of one that is dead
    std::int64_t started_at = 0;  ///< ticks since boot: a later process of the same number has another

    bool is_dead() const noexcept { return code == 'Z' || code == 'X' || code == 'x'; }
    bool is_stopped() const noexcept { return code == 'T'; }
    bool is_traced() const noexcept { return code == 't'; }
};

/// Reads the text of a stat file; nothing when it is none.
std::optional<ProcessState> parse_process_state(std::string_view text);

/// Nothing when there is no such process, or no /proc.
std::optional<ProcessState> process_state(pid_t pid);

/// Bytes read from and written to file systems, of a text like that of /proc/<pid>/io (proc(5)); 0 where it
/// is none.
std::int64_t parse_io_bytes(std::string_view text);

/// The same of a process, so far; 0 where that is not told.
std::int64_t process_io_bytes(pid_t pid);

/// `T = stopped (SIGSTOP)`.
std::string describe(const ProcessState& state);

/// A descriptor that becomes readable when the process ends, immune to a number that is used again; empty
/// where the system has none (Linux before 5.3) or the process is gone.
FileHandle watch_process(pid_t pid);

/// The number of the signal that killed the process of `watched`, which has ended; nothing where the system
/// does not tell: once its launcher has seen the end, Linux before 6.15.
std::optional<int> killing_signal(pid_t pid, const FileHandle& watched);

/// The process whose death ends this job here: the nearest ancestor that is not itself part of a rank, as a
/// wrapper script is. Nothing when no launcher started this process: the end of a login shell is no reason.
std::optional<pid_t> find_launcher();

}  // namespace ziggurat::comm
