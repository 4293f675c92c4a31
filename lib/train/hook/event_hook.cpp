#include "train/hook/event_hook.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/process/start_process.hpp"
#include "base/text/json_number.hpp"
#include "base/text/units.hpp"

extern char** environ;

namespace ziggurat::train {
namespace {

constexpr std::size_t max_waiting = 1000;
constexpr double seconds_between_looks = 0.01;
/// Run time of the command after which a note says that it delays the next events.
constexpr double slow_seconds = 300;

/// Events that the command gets: not those of each step, nor of each epoch of a small source.
constexpr std::array<std::string_view, 12> hook_events{"start",  "resume",  "crash",     "validate",
                                                       "best",   "spike",   "roll_back", "checkpoint_end",
                                                       "signal", "warning", "stop",      "end"};

/// Prefixes of variables by which MPI launchers describe a rank and its job.
constexpr std::array<std::string_view, 6> launcher_prefixes{"OMPI_", "PMIX_", "PRTE_",
                                                            "PMI_",  "HYDI_", "HYDRA_"};

std::vector<std::string> environment_of(std::string_view event, const std::string& run_dir) {
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text{*variable};
        if (std::ranges::none_of(launcher_prefixes,
                                 [&](std::string_view prefix) { return text.starts_with(prefix); })) {
            variables.emplace_back(text);
        }
    }
    variables.push_back("ZIGGURAT_EVENT=" + std::string{event});
    variables.push_back("ZIGGURAT_RUN_DIR=" + run_dir);
    return variables;
}

/// Returns a file in memory that holds `text`, to be read from its start.
///
/// Unlike a pipe, it never blocks its writer, and it outlives this process.
FileHandle file_with(std::string_view text) {
    FileHandle file{::memfd_create("ziggurat event", MFD_CLOEXEC)};
    if (file) {
        const int failure = write_all(file.get(), text);
        if (failure != 0 || ::lseek(file.get(), 0, SEEK_SET) != 0) {
            errno = failure != 0 ? failure : errno;
            return FileHandle{};
        }
    }
    return file;
}

}  // namespace

bool is_hook_event(std::string_view event) {
    return std::ranges::find(hook_events, event) != hook_events.end();
}

EventHook::EventHook(std::string command, std::string run_dir, FileHandle log, Note note)
    : command_{std::move(command)},
      run_dir_{std::move(run_dir)},
      log_{std::move(log)},
      note_{std::move(note)} {}

EventHook::Event EventHook::event_of(std::string_view event, std::string_view line, int exit_code) const {
    constexpr std::array good{0, exit_code_run_again};
    const bool has_failed = event == "end" && std::ranges::find(good, exit_code) == good.end();
    Event made{std::string{has_failed ? "failure" : event}, "{\"event\":"};
    append_json_string(made.line, made.name);
    made.line += ",\"run_dir\":";
    append_json_string(made.line, run_dir_);
    const auto first_field = line.find(',');  // after the event; names have no comma
    made.line += first_field == std::string_view::npos ? "}\n" : line.substr(first_field);
    return made;
}

void EventHook::add(std::string_view event, std::string_view line, int exit_code) {
    if (!is_hook_event(event)) {
        return;
    }
    if (waiting_.size() >= max_waiting && event != "end") {
        ++dropped_;
        return;
    }
    waiting_.push_back(event_of(event, line, exit_code));
}

pid_t EventHook::start(const Event& event) const {
    const auto input = file_with(event.line);
    if (!input) {
        return -1;
    }
    return start_process({.command = {"/bin/sh", "-c", command_},
                          .input = input.get(),
                          .output = log_.get(),
                          .errors = log_.get(),
                          .environment = environment_of(event.name, run_dir_),
                          .has_own_session = true});
}

void EventHook::advance() {
    if (process_ < 0 && waiting_.empty()) {
        return;
    }
    const auto now_ns = monotonic_ns();
    if (seconds_between(looked_ns_, now_ns) < seconds_between_looks) {
        return;
    }
    looked_ns_ = now_ns;
    if (process_ > 0) {
        int status = 0;
        const pid_t ended = ::waitpid(process_, &status, WNOHANG);
        if (ended == 0 || (ended < 0 && errno == EINTR)) {
            if (!has_noted_slow_ && seconds_between(begin_ns_, now_ns) > slow_seconds) {
                has_noted_slow_ = true;
                note_(
                    fmt::format("the command of run.on_event has run for {} for the event '{}'. The next "
                                "events wait for it.",
                                format_duration(seconds_between(begin_ns_, now_ns)), running_));
            }
            return;
        }
        process_ = -1;
        report_end(ended < 0 ? 0 : exit_status_of(status));
    }
    if (waiting_.empty()) {
        return;
    }
    const Event next = std::move(waiting_.front());
    waiting_.pop_front();
    ++started_;
    running_ = next.name;
    begin_ns_ = now_ns;
    process_ = start(next);
    if (process_ < 0) {
        report_failure(next.name, fmt::format("it cannot be started: {}", std::strerror(errno)));
    }
}

void EventHook::report_end(int status) {
    if (status != 0) {
        report_failure(running_, fmt::format("exit code {}", status));
    }
}

void EventHook::report_failure(const std::string& event, const std::string& reason) {
    ++failed_;
    if (failed_ == 1) {
        note_(
            fmt::format("the command of run.on_event failed ({}, event '{}'). Training continues. Its output "
                        "is in {}/{}. Further failures are counted, and reported at the end.",
                        reason, event, run_dir_, hook_log_name));
    }
}

void EventHook::finish(double seconds, const std::function<bool()>& is_interrupted) {
    const auto begin_ns = monotonic_ns();
    advance();
    while (process_ > 0 || !waiting_.empty()) {
        if (seconds_between(begin_ns, monotonic_ns()) > seconds || is_interrupted()) {
            break;
        }
        std::this_thread::sleep_for(std::chrono::duration<double>{seconds_between_looks});
        advance();
    }
    if (!waiting_.empty()) {
        const auto last = std::move(waiting_.back());
        dropped_ += std::ssize(waiting_) - 1;
        waiting_.clear();
        ++started_;
        if (start(last) < 0) {
            report_failure(last.name, fmt::format("it cannot be started: {}", std::strerror(errno)));
        }
    }
    if (dropped_ > 0) {
        note_(fmt::format("the command of run.on_event did not get {} events, because it was too slow.",
                          dropped_));
    }
    if (failed_ > 1) {
        note_(fmt::format("the command of run.on_event failed for {} of {} events. Its output is in {}/{}.",
                          failed_, started_, run_dir_, hook_log_name));
    }
}

void EventHook::fail(std::string_view line) noexcept {
    try {
        constexpr int any_failure = 1;
        start(event_of("end", line, any_failure));
    } catch (...) {
        // The process ends, and has reported the reason.
    }
}

}  // namespace ziggurat::train
