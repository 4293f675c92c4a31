/// Departure: abort of this process: its message, its notification of the run, and its exit.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "comm/watch/monitored_ranks.hpp"

namespace ziggurat::comm {

/// Prints `ziggurat: <line>` on stderr in one write, so that lines of several ranks do not mix.
///
/// Errors of the write are ignored.
void print_on_stderr(std::string_view line);

/// Ends this process with a line on stderr, within two seconds even if a file or a terminal blocks.
class ProcessAbort {
  public:
    /// \param list  outlives this
    explicit ProcessAbort(const MonitoredRanks& list) : list_{list} {}

    /// Destinations of a message: stderr only, or the error file as well.
    ///
    /// A rank that only follows another rank's abort does not write to the file.
    enum class ErrorSink { stderr_only, file_too };

    /// Last message of a rank.
    struct LastMessage {
        int exit_code = 0;
        const std::string& line;
        /// True for a rank's own failure, and for the first rank of a node that names another one.
        ///
        /// False for ranks that follow.
        bool is_own_reason = false;
    };
    using WriteLastMessage = std::function<void(const LastMessage&)>;

    /// Setters and getter that implement the functions of the same names in Liveness.
    void keep_errors_in(const std::string& path);
    std::string error_file() const;
    void set_last_message(WriteLastMessage last_message);

    /// True if the job is being aborted.
    bool has_begun() const noexcept { return has_begun_.load(std::memory_order_relaxed); }

    [[noreturn]] void abort_process(int exit_code,
                                    const std::string& line,
                                    ErrorSink words = ErrorSink::stderr_only);
    /// Variant of abort_process() that pauses first.
    ///
    /// Launchers report the exit code of the first process that they see end, which should be the failed one.
    [[noreturn]] void leave_after_others(int exit_code,
                                         const std::string& line,
                                         ErrorSink words = ErrorSink::stderr_only);

  private:
    void begin(int exit_code, const std::string& line, ErrorSink words);

    const MonitoredRanks& list_;
    std::atomic<bool> has_begun_{false};
    mutable std::mutex naming_;
    std::string error_file_;
    WriteLastMessage last_message_;
};

}  // namespace ziggurat::comm
