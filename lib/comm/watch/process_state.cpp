#include "comm/watch/process_state.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <sstream>

namespace ziggurat::comm {
namespace {

/// Environment variables with the rank of a process, set by launchers.
constexpr std::array<std::string_view, 4> rank_variables{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK",
                                                         "SLURM_PROCID"};
/// Bound on nested wrapper processes, which ends the loop.
constexpr int max_wrappers = 16;

// Fields of /proc/<pid>/stat, counted from 1 (proc(5)).
constexpr int field_of_state = 3;
constexpr int field_of_user_time = 14;
constexpr int field_of_system_time = 15;
constexpr int field_of_start = 22;
constexpr int field_of_exit_status = 52;

/// Argument of PIDFD_GET_INFO, which headers of Debian 12 do not define yet.
/// Source: Linux 6.15, include/uapi/linux/pidfd.h
constexpr std::uint64_t pidfd_info_exit = 1 << 3;
struct PidfdInfo {
    std::uint64_t mask = pidfd_info_exit;
    std::uint64_t cgroup = 0;
    std::uint32_t ids[11] = {};  // of the process, its threads, its parent, users and groups
    std::int32_t exit_code = 0;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr unsigned long get_pidfd_info = _IOWR(0xFF, 11, PidfdInfo);

std::string proc_file(pid_t pid, const char* name) {
    return "/proc/" + std::to_string(pid) + "/" + name;
}

/// Returns the variable that this process has its rank from; empty without a launcher.
///
/// The first variable found counts: with mpirun inside a batch job, Slurm's is set as well.
std::string own_rank_variable() {
    for (const auto variable : rank_variables) {
        if (std::string name{variable}; std::getenv(name.c_str()) != nullptr) {
            return name;
        }
    }
    return {};
}

/// True if an environment, a list of `name=value` each ended by a zero, sets the variable.
bool sets(const std::string& environment, const std::string& variable) {
    return ('\0' + environment).find('\0' + variable + '=') != std::string::npos;
}

pid_t parent_of(pid_t pid) {
    const std::string text = read_proc_file(proc_file(pid, "stat"));
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos) {
        return 0;
    }
    std::istringstream fields{text.substr(name_end + 1)};
    char state = 0;
    pid_t parent = 0;
    fields >> state >> parent;
    return parent;
}

/// Reads the beginning of a file of /proc/<pid> into `text`; empty if it cannot be read.
///
/// Called repeatedly during training, so it does not allocate.
std::string_view read_begin(pid_t pid, const char* name, std::span<char> text) {
    std::array<char, 32> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/%s", static_cast<int>(pid), name);
    const FileHandle file{::open(path.data(), O_RDONLY | O_CLOEXEC)};
    const ssize_t bytes = file ? ::read(file.get(), text.data(), text.size()) : 0;
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))};
}

}  // namespace

std::string read_proc_file(const std::string& path) {
    const FileHandle file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    std::string text;
    std::array<char, 4096> part{};
    while (file) {
        const ssize_t bytes = ::read(file.get(), part.data(), part.size());
        if (bytes <= 0) {
            break;
        }
        text.append(part.data(), bytes);
    }
    return text;
}

std::optional<ProcessState> parse_process_state(std::string_view text) {
    // The second field is the command in parentheses, which may contain spaces and parentheses.
    const auto name_end = text.rfind(')');
    if (name_end == std::string_view::npos) {
        return std::nullopt;
    }
    ProcessState state;
    int field = 2;
    for (std::string_view rest = text.substr(name_end + 1); field < field_of_exit_status;) {
        rest.remove_prefix(std::min(rest.find_first_not_of(" \n"), rest.size()));
        const std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
        if (word.empty()) {
            return field < field_of_start ? std::nullopt : std::optional{state};
        }
        rest.remove_prefix(word.size());
        std::int64_t number = 0;
        std::from_chars(word.data(), word.data() + word.size(), number);
        switch (++field) {
            case field_of_state:
                state.code = word.front();
                break;
            case field_of_user_time:
            case field_of_system_time:
                state.cpu_ticks += number;
                break;
            case field_of_start:
                state.started_at = number;
                break;
            case field_of_exit_status:
                state.exit_status = static_cast<int>(number);
                break;
            default:
                break;
        }
    }
    return state;
}

std::optional<ProcessState> process_state(pid_t pid) {
    std::array<char, 1024> text{};
    return parse_process_state(read_begin(pid, "stat", text));
}

std::int64_t parse_io_bytes(std::string_view text) {
    // Lines are `name: number`. Those of system calls also count reads of /proc, which this module does.
    std::int64_t sum = 0;
    for (const std::string_view name : {"\nread_bytes: ", "\nwrite_bytes: "}) {
        const auto at = text.find(name);
        std::int64_t number = 0;
        if (at != std::string_view::npos) {
            std::from_chars(text.data() + at + name.size(), text.data() + text.size(), number);
        }
        sum += number;
    }
    return sum;
}

std::int64_t process_io_bytes(pid_t pid) {
    std::array<char, 512> text{};
    return parse_io_bytes(read_begin(pid, "io", text));
}

std::string describe(const ProcessState& state) {
    const std::string code = std::string{"state "} + state.code + " = ";
    switch (state.code) {
        case 'R':
            return code + "running";
        case 'S':
            return code + "sleeping";
        case 'D':
            return code + "waiting for a disk or a file server";
        case 'T':
            return code + "stopped (SIGSTOP)";
        case 't':
            return code + "held by a debugger";
        case 'Z':
        case 'X':
        case 'x':
            return code + "dead";
        default:
            return code + "unknown";
    }
}

FileHandle watch_process(pid_t pid) {
    return FileHandle{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
}

std::optional<int> killing_signal(pid_t pid, const FileHandle& watched) {
    const auto state = process_state(pid);
    std::optional<int> status = state && state->is_dead() ? state->exit_status : std::nullopt;
    if ((!status || !WIFSIGNALED(*status)) && watched) {
        PidfdInfo info;
        const bool is_reported =
            ::ioctl(watched.get(), get_pidfd_info, &info) == 0 && (info.mask & pidfd_info_exit) != 0;
        status = is_reported ? std::optional{static_cast<int>(info.exit_code)} : std::nullopt;
    }
    return status && WIFSIGNALED(*status) ? std::optional{WTERMSIG(*status)} : std::nullopt;
}

std::optional<pid_t> find_launcher() {
    const std::string variable = own_rank_variable();
    if (variable.empty()) {
        return std::nullopt;
    }
    pid_t ancestor = ::getppid();
    for (int i = 0; i < max_wrappers && ancestor > 1; ++i) {
        // The environment of another user's process, such as a daemon of the batch system, is not readable.
        if (!sets(read_proc_file(proc_file(ancestor, "environ")), variable)) {
            return ancestor;
        }
        ancestor = parent_of(ancestor);
    }
    return std::nullopt;
}

}  // namespace ziggurat::comm
