/// Departure of a rank from its job: what it says, whom it lets know, and the end of its process.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "comm/watch/watch_list.hpp"

namespace ziggurat::comm {

/// Prints `ziggurat: <line>` on stderr in one write, so that lines of several ranks do not mix; a reader that
/// has gone is no reason to stay.
void say_on_stderr(std::string_view line);

/// Ends this process, with a line on stderr. Whatever a file or a terminal does not take, the process ends
/// within two seconds.
class Departure {
  public:
    /// \param list  outlives this
    explicit Departure(const WatchList& list) : list_{list} {}

    /// Places in which a line is left: stderr, or the error file as well. A rank that follows another one
    /// keeps nothing that is not kept there.
    enum class Words { said, kept };

    /// What a rank says last.
    struct LastWords {
        int exit_code = 0;
        const std::string& line;
        /// True for a rank's own failure and for the first rank of a machine that names another one; ranks
        /// that follow have false.
        bool is_own_reason = false;
    };
    using TellLastWords = std::function<void(const LastWords&)>;

    /// As Liveness has them.
    void keep_errors_in(const std::string& path);
    std::string error_file() const;
    void before_leaving(TellLastWords told);

    /// The job is being ended.
    bool has_begun() const noexcept { return has_begun_.load(std::memory_order_relaxed); }

    [[noreturn]] void leave(int exit_code, const std::string& line, Words words = Words::said);
    /// The same after a pause: launchers report the exit code of the process that they see end first, which
    /// should be the one to blame.
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
