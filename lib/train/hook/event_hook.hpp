/// Command of run.on_event, which gets the events of a run.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/file_handle.hpp"

namespace ziggurat::train {

/// File of the run directory with the output of the command.
inline constexpr const char* hook_log_name = "on_event.log";

/// Returns true if the command gets events of that name: all events of metrics.jsonl that are rare.
bool is_hook_event(std::string_view event);

/// Starts a command for each event, one at a time and in their order.
///
/// Training never waits for it: only finish() does.
///
/// The command is run by /bin/sh. Its standard input is one line of JSON: the line of metrics.jsonl, and
/// `run_dir`. If the run ends with an error, the event is `failure` and not `end`. ZIGGURAT_EVENT and
/// ZIGGURAT_RUN_DIR hold the event and the run directory. The variables by which an MPI launcher describes
/// this rank are removed, so the command may start MPI programs. A signal to the job does not reach it.
///
/// A failure of the command is a note. Events that wait for a slow command are kept up to a limit; then new
/// ones are dropped, and a note gives their number.
///
/// Collective: local; rank 0 has one
class EventHook {
  public:
    using Note = std::function<void(const std::string&)>;

    /// \param run_dir  absolute path, for the command
    /// \param log      file for its output
    /// \param note     prints a note
    EventHook(std::string command, std::string run_dir, FileHandle log, Note note);
    EventHook(const EventHook&) = delete;
    EventHook& operator=(const EventHook&) = delete;
    /// A running command continues.
    ~EventHook() = default;

    /// Replaces the file of the output.
    void set_output(FileHandle log) noexcept { log_ = std::move(log); }

    /// Takes an event, if it is one of is_hook_event(). Starts nothing.
    ///
    /// \param line       of metrics.jsonl
    /// \param exit_code  of the run, for `end`
    void add(std::string_view event, std::string_view line, int exit_code = 0);

    /// Polls the running command, and starts it for the next event. Cheap if there is nothing to do.
    void advance();

    /// Waits until the command has had all events, at most `seconds`, and until `is_interrupted` returns
    /// true.
    ///
    /// Then starts it for the last event without waiting, because that is the end of the run.
    void finish(double seconds, const std::function<bool()>& is_interrupted);

    /// Starts the command for the last event of a run that fails, even if one still runs. Any thread.
    void fail(std::string_view line) noexcept;

  private:
    struct Event {
        std::string name;
        std::string line;
    };

    /// Returns the event with the name that the command sees, and with the run directory.
    Event event_of(std::string_view event, std::string_view line, int exit_code) const;
    /// Starts the command. Returns its process, or -1 and sets errno.
    pid_t start(const Event& event) const;
    void report_end(int status);
    void report_failure(const std::string& event, const std::string& reason);

    std::string command_;
    std::string run_dir_;
    FileHandle log_;
    Note note_;
    std::deque<Event> waiting_;
    pid_t process_ = -1;   ///< of the running command; -1: none runs
    std::string running_;  ///< event of the running command
    std::int64_t begin_ns_ = 0, looked_ns_ = 0;
    std::int64_t started_ = 0, failed_ = 0, dropped_ = 0;
    bool has_noted_slow_ = false;
};

}  // namespace ziggurat::train
