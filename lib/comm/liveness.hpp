/// No rank waits for ever: who dies, stops or fails is named by all others, and they leave.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/machine_board.hpp"
#include "comm/process_state.hpp"
#include "comm/watchdog.hpp"

namespace ziggurat::comm {

/// A rank of this machine; its place in the list is its line on the board.
struct Peer {
    int rank = 0;
    pid_t pid = 0;
    std::int64_t started_at = 0;  ///< as ProcessState has it
};

/// Who watches whom.
struct WatchList {
    std::vector<Peer> peers;  ///< all ranks of this machine, this one among them
    std::size_t me = 0;       ///< this rank's place in `peers`
    int world_size = 1;
    std::string host;
    MachineBoard board;
    bool is_shared = true;          ///< all peers see this board
    std::optional<pid_t> launcher;  ///< whose death ends the job
};

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

    void set_patience(double seconds) noexcept { patience_seconds_ = seconds; }

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
    struct Watched {
        std::size_t peer = 0;
        FileDescriptor descriptor = {};
        bool is_gone = false;
    };

    void run();
    static bool is_ended(const FileDescriptor& process);
    bool is_dead(const Watched& watched) const;
    Stage stage_of(const Watched& watched) const;
    [[noreturn]] void leave_for_dead(const Watched& dead);
    [[noreturn]] void leave_for_failed(const Watched& failed);
    [[noreturn]] void leave_without_launcher();
    [[noreturn]] void leave(int exit_code, const std::string& line);
    [[noreturn]] void leave_after_others(int exit_code, const std::string& line);
    void begin_to_leave(int exit_code, const std::string& line);
    void check_patience(std::int64_t tick_ns);
    void judge(std::int64_t now_ns);
    void note_processor_time();
    RankReport report_of(std::size_t peer, std::int64_t now_ns) const;
    int place_of(int rank) const;
    std::string own_work() const;
    std::string who_am_i() const;
    /// \param culprit  place among the peers; none of them: -1
    bool claim_verdict(int exit_code, int culprit, const std::string& reason);
    std::optional<std::string> verdict_of_others() const;
    BoardLine& my_line() const noexcept { return list_.board.line(static_cast<int>(list_.me)); }

    WatchList list_;
    std::vector<Watched> watched_;
    FileDescriptor launcher_;
    FileDescriptor wake_;  ///< ends the thread
    std::atomic<double> patience_seconds_{first_patience_seconds};
    std::atomic<bool> is_ending_{false};
    std::atomic<bool> stops_{false};
    std::mutex looking_;
    bool is_waiting_ = false;  ///< of the thread that waits; mirrors the board

    // Of the watching thread.
    std::vector<std::int64_t> ticks_before_;  ///< processor time of each peer at noted_ns_
    std::int64_t last_tick_ns_ = 0;
    std::int64_t patient_since_ns_ = 0;  ///< patience does not count what came before
    std::int64_t judged_wait_ = 0;       ///< the wait that rounds_ counts, by its beginning
    std::int64_t noted_ns_ = 0;          ///< when ticks_before_ were read; 0: not yet
    int rounds_ = 0;
    std::thread thread_;
};

}  // namespace ziggurat::comm
