#include "train/report/lost_end.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/control_group.hpp"
#include "base/file_handle.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "storage/directory.hpp"
#include "train/hook/event_hook.hpp"
#include "train/report/metrics_line.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t max_bytes_of_tail = 1 << 18;
constexpr std::int64_t max_bytes_of_error = 1 << 20;
/// Tolerance for differences between the clocks of nodes.
constexpr double slack_seconds = 5;

/// Facts from the last lines of metrics.jsonl.
struct Tail {
    std::string last_event = {};
    std::int64_t step = 0;
    double time = 0;
    std::optional<std::int64_t> kills_at_start = {};
    std::string signal = {};  ///< signal that requested a stop; empty if none did
};

Tail tail_of(const std::string& path) {
    Tail tail;
    const FileHandle file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    const std::int64_t size = file ? ::lseek(file.get(), 0, SEEK_END) : 0;
    const auto begin = std::max<std::int64_t>(0, size - max_bytes_of_tail);
    std::string text(std::max<std::int64_t>(0, size - begin), '\0');
    const ssize_t bytes = text.empty() ? 0 : ::pread(file.get(), text.data(), text.size(), begin);
    text.resize(std::max<ssize_t>(0, bytes));
    std::size_t at = 0;
    for (auto end = text.find('\n'); end != std::string::npos; at = end + 1, end = text.find('\n', at)) {
        const auto line = text.substr(at, end - at);
        const auto facts = parse_metrics_line(line);
        if (!facts || facts->event.empty()) {
            continue;
        }
        tail.last_event = facts->event;
        tail.time = facts->time;
        tail.step = facts->step.value_or(tail.step);
        if (facts->event == "start") {
            tail.kills_at_start = facts->oom_kills;
            tail.signal.clear();
        } else if (facts->event == "signal") {
            tail.signal = facts->signal;
        }
    }
    return tail;
}

double time_of(const fs::path& path) {
    std::error_code unreadable;
    const auto written = fs::last_write_time(path, unreadable);
    const auto since = std::chrono::file_clock::to_sys(written).time_since_epoch();
    return unreadable ? 0 : std::chrono::duration<double>(since).count();
}

/// Returns the last line of the newest file in `errors` that was written after `time`; else empty.
std::string newest_error(const fs::path& errors, double time) {
    std::error_code unreadable;
    fs::path newest;
    double newest_time = time - slack_seconds;
    for (const auto& entry : fs::directory_iterator{errors, unreadable}) {
        if (const auto written = time_of(entry.path()); written > newest_time) {
            newest = entry.path();
            newest_time = written;
        }
    }
    auto text = newest.empty() ? std::nullopt : storage::read_small_file(newest.string(), max_bytes_of_error);
    if (!text || text->empty()) {
        return "";
    }
    text->resize(text->find_last_not_of('\n') + 1);
    const auto line = text->substr(text->rfind('\n') + 1);
    const auto begin = line.find("error: ");
    return begin == std::string::npos ? line : line.substr(begin + 7);
}

std::string reason_of(const std::string& run_folder, const Tail& tail) {
    if (auto reported = newest_error(fs::path{run_folder} / "errors", tail.time); !reported.empty()) {
        return reported;
    }
    const auto group = memory_group();
    if (tail.kills_at_start && group.has_killed_since(*tail.kills_at_start)) {
        return fmt::format(
            "killed by the system: the memory limit of the control group '{}', {}, was reached", group.folder,
            format_bytes(group.granted_bytes));
    }
    if (!tail.signal.empty()) {
        return tail.signal + " requested a stop, and the job was killed before it ended";
    }
    return "reason unknown: all its processes were killed at once, or the machine was lost";
}

/// Locks the folder of a run whose rank 0 may have died a moment ago. Returns false if it is alive.
///
/// The system, and commands that rank 0 is starting, release the lock shortly after its death.
bool lock_of_dead_rank(const FileHandle& folder) {
    constexpr int max_tries = 125;
    constexpr std::chrono::milliseconds pause{2};
    for (int i = 0; i < max_tries; ++i) {
        if (::flock(folder.get(), LOCK_EX | LOCK_NB) == 0) {
            return true;
        }
        std::this_thread::sleep_for(pause);
    }
    return false;
}

bool has_reported(const Tail& tail) {
    return tail.last_event.empty() || tail.last_event == "end" || tail.last_event == "crash";
}

}  // namespace

std::optional<LostEnd> find_lost_end(const std::string& run_folder) {
    const auto tail = tail_of(run_folder + "/metrics.jsonl");
    if (has_reported(tail)) {
        return std::nullopt;
    }
    return LostEnd{.step = tail.step, .time = tail.time, .reason = reason_of(run_folder, tail)};
}

bool is_a_job_in(const std::string& run_folder) {
    const FileHandle folder{::open(run_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    return !folder || ::flock(folder.get(), LOCK_SH | LOCK_NB) != 0;
}

void report_for_first_rank(const std::string& run_folder,
                           int exit_code,
                           std::string_view reason,
                           const std::string& on_event) noexcept {
    try {
        const FileHandle folder{::open(run_folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        if (!folder || !lock_of_dead_rank(folder)) {
            return;  // rank 0 holds the lock and writes the end itself
        }
        const auto tail = tail_of(run_folder + "/metrics.jsonl");
        if (has_reported(tail)) {
            return;
        }
        const EndLine end{.event = "crash",
                          .time = calendar_seconds(),
                          .step = tail.step,
                          .exit_code = exit_code,
                          .reason = reason};
        const auto metrics = open_for_writing(run_folder + "/metrics.jsonl", OpenMode::append);
        const auto line = text_of(end);
        write_all(metrics.get(), line);
        const auto log = open_for_writing(run_folder + "/run.log", OpenMode::append);
        write_all(log.get(), "ziggurat: " + printable(reason, Newlines::kept) + "\n");
        if (!on_event.empty()) {
            auto output = open_for_writing(run_folder + "/" + hook_log_name, OpenMode::append);
            EventHook{on_event, fs::absolute(run_folder).string(), std::move(output), {}}.fail(line);
        }
    } catch (...) {
        // The rank is about to exit. It has already printed its error on stderr.
    }
}

}  // namespace ziggurat::train
