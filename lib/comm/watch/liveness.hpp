/// Liveness of the ranks: one that dies, stops or fails is named by all others, and they leave.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "comm/watch/departure.hpp"
#include "comm/watch/far_questions.hpp"
#include "comm/watch/hang_watch.hpp"
#include "comm/watch/reasons_to_leave.hpp"
#include "comm/watch/watch_list.hpp"

namespace ziggurat::comm {

/// Watches the ranks of this machine and their launcher from a thread of its own, which sleeps until one of
/// them ends: it needs no help from a rank that waits, computes or sits in a library, and costs nothing.
///
/// The first rank to notice something wrong writes it on the board. Every rank prints one line that names the
/// culprit (rank, process, machine, its work, and what this rank was waiting for) and leaves by _exit(2), in
/// a moment of its own choosing and without waiting for anybody: launchers kill soon after the first death.
///
/// This rank publishes its work and its waits, so that those that wait for it can say so, and so that a wait
/// that takes longer than the patience is judged (watchdog.hpp).
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

    /// The line that this rank prints when it leaves for a reason of its own is also written into the file at
    /// `path`, whose folder is made then. Before this is called, it is only printed.
    void keep_errors_in(const std::string& path) { departure_.keep_errors_in(path); }
    /// The file of keep_errors_in(); empty when there is none.
    std::string error_file() const { return departure_.error_file(); }

    /// `told` is called once, by the thread that makes this rank leave; an empty one takes it back. It must
    /// be short, for the process ends soon whether it has returned or not, and touch nothing that another
    /// thread may be changing.
    void before_leaving(Departure::TellLastWords told) { departure_.before_leaving(std::move(told)); }

    /// `name` returns the name of the launcher if that ends this job because it was asked to, else an empty
    /// text: a rank that is killed then has no fault of its own. Called by any thread until this ends.
    void when_launcher_ends(std::function<std::string()> name);

    /// This rank begins to do `what`. For every op of a step: some stores, no clock, no lock.
    void does(std::string_view what, std::int64_t since_ns) noexcept;
    /// This rank waits for others, for `what`; further calls for the same wait change nothing.
    void waits_for(std::string_view what) noexcept;
    /// The same for its own device, or a thread beside that computes: it is at work, and judges itself.
    void works_beside(std::string_view what) noexcept;
    /// The wait is over.
    void moves() noexcept;

    /// Looks at once, in the calling thread: leaves if a peer is dead, returns if all is well.
    void look();
    /// The job is being ended: signals of the launcher and errors of libraries mean nothing any more.
    bool is_ending() const noexcept { return departure_.has_begun(); }

    /// This rank has failed: tells the others and leaves with `exit_code`. Prints `message` unless another
    /// rank has said the same.
    [[noreturn]] void fail(int exit_code, const std::string& message);

    const WatchList& watch_list() const noexcept { return list_; }

    /// The others may end before this rank can see why; called before MPI is finalized.
    void takes_leave() noexcept;

  private:
    void begin_wait(Doing doing, std::string_view what) noexcept;
    void run();
    /// Until somebody ends or a look is due; true when somebody may have ended.
    bool sleep_until_news();
    void wake() noexcept;
    void judge();
    bool is_dead(std::size_t peer) const;
    [[noreturn]] void leave_dead_peer(std::size_t peer);

    WatchList list_;
    std::vector<FileHandle> processes_;  ///< by peer; empty for this rank, and where it cannot be had
    std::vector<bool> ended_;            ///< by peer: it has finished
    FileHandle launcher_;
    FileHandle wake_;  ///< ends the thread's sleep
    std::atomic<double> patience_seconds_{first_patience_seconds};
    std::atomic<bool> stops_{false};
    std::mutex looking_;
    std::function<std::string()> ending_launcher_;
    std::atomic<bool> is_finishing_{false};  ///< takes_leave() was called
    Doing doing_ = Doing::works;             ///< of the thread that waits; mirrors the board
    Departure departure_;
    ReasonsToLeave reasons_;
    FarQuestions questions_;     ///< of the watching thread
    HangWatch hangs_;            ///< of the watching thread
    std::vector<pollfd> asked_;  ///< of the watching thread
    std::thread thread_;
};

}  // namespace ziggurat::comm
