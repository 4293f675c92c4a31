/// No rank waits for ever: who dies, stops or fails is named by all others, and they leave.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/watch/hang_watch.hpp"
#include "comm/watch/watch_list.hpp"

namespace ziggurat::comm {

/// Watches the ranks of this machine and their launcher from a thread of its own, which sleeps until one of
/// them ends: it needs no help from whoever waits, computes or sits in a library, and costs nothing.
///
/// The first to notice something wrong writes it on the board. Every rank prints one line that names the
/// culprit (rank, process, machine, what it was doing and what this rank was waiting for) and leaves by
/// _exit(2), in a moment of its own choosing and without waiting for anybody: launchers kill soon after the
/// first death.
///
/// This rank publishes what it does and waits for, so that those who wait for it can say so, and so that a
/// wait that takes longer than the patience is judged (watchdog.hpp).
class Liveness {
  public:
    /// Patience until set_patience() is called: a run's default.
    static constexpr double first_patience_seconds = 600;

    /// Errors: Error{resource} when the thread cannot be started
    explicit Liveness(WatchList list);
    /// The rank has finished: nobody minds its end from now on.
    ~Liveness();
    Liveness(const Liveness&) = delete;
    Liveness& operator=(const Liveness&) = delete;

    void set_patience(double seconds) noexcept;

    /// What this rank has to say first when it leaves is also written into the file at `path`, whose folder
    /// is made then. Before this is called, it is only printed.
    void keep_errors_in(const std::string& path);
    /// The file of keep_errors_in(); empty when there is none.
    std::string error_file() const;

    /// `told` is called once, by whatever thread makes this rank leave, with the exit code and what is said;
    /// an empty one takes it back. It must be short, for the process ends soon whether it has returned or
    /// not, and touch nothing that another thread may be changing.
    void before_leaving(std::function<void(int exit_code, const std::string& line)> told);

    /// This rank begins to do `what`. For every op of a step: some stores, no clock, no lock.
    void does(std::string_view what, std::int64_t since_ns) noexcept;
    /// This rank waits for others, for `what`; further calls for the same wait change nothing.
    void waits_for(std::string_view what) noexcept;
    /// The wait is over.
    void moves() noexcept;

    /// Looks at once, in the calling thread: leaves if a peer is dead, returns if all is well.
    void look();
    /// The job is being ended; what comes now (signals of the launcher, errors of libraries) means nothing.
    bool is_ending() const noexcept { return is_ending_.load(std::memory_order_relaxed); }

    /// This rank has failed: tells the others and leaves with `exit_code`. Prints `message` unless another
    /// rank has said the same.
    [[noreturn]] void fail(int exit_code, const std::string& message);

    const WatchList& watch_list() const noexcept { return list_; }

    /// The others may end before this rank can see why; called before MPI is finalized.
    void takes_leave() noexcept;

  private:
    void run();
    /// Until somebody ends or a look is due; true when somebody may have ended.
    bool sleep_until_news();
    void wake() noexcept;
    void judge();
    bool is_dead(std::size_t peer) const;
    [[noreturn]] void leave_for_dead(std::size_t peer);
    [[noreturn]] void leave_for_failed(std::size_t peer);
    [[noreturn]] void leave_for(const Verdict& verdict);
    [[noreturn]] void leave_without_launcher();
    [[noreturn]] void leave_for_far(const FarVerdict& verdict);
    /// Of the ranks on other machines, none of which sees this board.
    void tell_far(int exit_code, const std::string& text, bool is_failure) const;
    /// Whether what is said goes into the error file as well.
    enum class Words { said, kept };
    [[noreturn]] void leave(int exit_code, const std::string& line, Words words = Words::said);
    [[noreturn]] void leave_after_others(int exit_code, const std::string& line, Words words = Words::said);
    void begin_to_leave(int exit_code, const std::string& line, Words words);
    /// Of another rank.
    std::optional<Verdict> verdict_of_others() const;

    WatchList list_;
    std::vector<FileHandle> processes_;  ///< by peer; empty for this rank, and where it cannot be had
    std::vector<bool> ended_;            ///< by peer: it has finished
    FileHandle launcher_;
    FileHandle wake_;  ///< ends the thread's sleep
    std::atomic<double> patience_seconds_{first_patience_seconds};
    std::atomic<bool> is_ending_{false};
    std::atomic<bool> stops_{false};
    std::mutex looking_;
    mutable std::mutex naming_;
    std::string error_file_;
    std::function<void(int, const std::string&)> told_before_leaving_;
    bool is_waiting_ = false;    ///< of the thread that waits; mirrors the board
    HangWatch hangs_;            ///< of the watching thread
    std::vector<pollfd> asked_;  ///< of the watching thread
    std::thread thread_;
};

}  // namespace ziggurat::comm
