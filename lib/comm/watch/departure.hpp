/// Departure: abort of this process: its message, its notification of the run, and its exit.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "comm/watch/watch_list.hpp"

namespace ziggurat::comm {

/// Prints `ziggurat: <line>` on stderr in one write, so that lines of several ranks do not mix.
///
/// Errors of the write are ignored.
void say_on_stderr(std::string_view line);

/// Ends this process with a line on stderr, within two seconds even if a file or a terminal blocks.
class Departure {
  public:
    /// \param list  outlives this
    explicit Departure(const WatchList& list) : list_{list} {}

    /// Destinations of a message: stderr only, or the error file as well.
    ///
    /// A rank that only follows another rank's abort does not write to the file.
    enum class Words { said, kept };

    /// Last message of a rank.
    struct LastWords {
        int exit_code = 0;
        const std::string& line;
        /// True for a rank's own failure, and for the first rank of a node that names another one.
        ///
        /// False for ranks that follow.
        bool is_own_reason = false;
    };
    using TellLastWords = std::function<void(const LastWords&)>;

    /// Setters and getter that implement the functions of the same names in Liveness.
    void keep_errors_in(const std::string& path);
    std::string error_file() const;
    void before_leaving(TellLastWords told);

    /// True if the job is being aborted.
    bool has_begun() const noexcept { return has_begun_.load(std::memory_order_relaxed); }

    [[noreturn]] void leave(int exit_code, const std::string& line, Words words = Words::said);
    /// Variant of leave() that pauses first.
    ///
    /// Launchers report the exit code of the first process that they see end, which should be the failed one.
    [[noreturn]] void leave_after_others(int exit_code, const std::string& line, Words words = Words::said);

  private:
    void begin(int exit_code, const std::string& line, Words words);

    const WatchList& list_;
    std::atomic<bool> has_begun_{false};
    mutable std::mutex naming_;
    std::string error_file_;
    TellLastWords told_before_leaving_;
};

}  // namespace ziggurat::comm
