/// Liveness: detection of ranks that die, stop or fail; all others report them and exit.
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

#include "comm/watch/abort_handler.hpp"
#include "comm/watch/hang_watch.hpp"
#include "comm/watch/monitored_ranks.hpp"
#include "comm/watch/process_abort.hpp"
#include "comm/watch/remote_heartbeat.hpp"

namespace ziggurat::comm {

/// Monitor of the ranks of this node and their launcher, on its own thread.
///
/// The thread sleeps until one of them ends. So it works while the rank waits, computes or is inside a
/// library, and costs nothing.
///
/// The first rank that detects a failure writes it to the board. Every rank prints one line that names the
/// culprit: rank, process, node, its activity, and this rank's wait. It exits by _exit(2) independently of
/// the others, because launchers kill all ranks soon after the first death.
///
/// This rank publishes its activity and its waits, so that ranks which wait for it can report them. A wait
/// that exceeds the timeout is diagnosed (watchdog.hpp).
class Liveness {
  public:
    /// Timeout of waits until set_hang_timeout() is called: the default of a run.
    static constexpr double first_timeout_seconds = 600;

    /// \param stopped_timeout_seconds  timeout for a stopped rank, until set_hang_timeout() is called
    /// Errors: Error{resource} if the thread cannot be started
    explicit Liveness(MonitoredRanks list, double stopped_timeout_seconds = first_timeout_seconds);
    /// Marks the rank as finished: its end is no longer reported as a failure.
    ~Liveness();
    Liveness(const Liveness&) = delete;
    Liveness& operator=(const Liveness&) = delete;

    void set_hang_timeout(double seconds) noexcept;

    /// Sets the file in which this rank records an abort for its own reason, in addition to printing it.
    ///
    /// The folder of `path` is created when needed. Without this call, the line is only printed.
    void keep_errors_in(const std::string& path) { departure_.keep_errors_in(path); }
    /// Returns the file of keep_errors_in(); empty if not set.
    std::string error_file() const { return departure_.error_file(); }

    /// Sets a function that is called once by the thread that aborts this process; an empty one removes it.
    ///
    /// It must be short, because the process ends soon even if it has not returned. It must not access data
    /// that another thread may change.
    void set_last_message(ProcessAbort::WriteLastMessage last_message) {
        departure_.set_last_message(std::move(last_message));
    }

    /// Sets a function that returns the launcher's name if the launcher ends this job on request, else "".
    ///
    /// A rank that is killed then has not failed. Any thread may call `name` until this object ends.
    void when_launcher_ends(std::function<std::string()> name);

    /// Publishes that this rank starts to do `what`.
    ///
    /// For every op of a step: some stores, no clock, no lock.
    void begin_activity(std::string_view what, std::int64_t since_ns) noexcept;
    /// Publishes that this rank waits for others, for `what`. Further calls in a wait have no effect.
    void waits_for(std::string_view what) noexcept;
    /// Publishes that this rank waits for its own device or compute thread: it counts as busy.
    ///
    /// It diagnoses such waits itself.
    void device_busy(std::string_view what) noexcept;
    /// Publishes that the wait has ended.
    void end_wait() noexcept;

    /// Polls once, in the calling thread: aborts if a peer is dead, otherwise returns.
    void poll_once();
    /// True if the job is being aborted: signals of the launcher and errors of libraries can be ignored.
    bool is_ending() const noexcept { return departure_.has_begun(); }

    /// Reports a failure of this rank to the others, and exits with `exit_code`.
    ///
    /// Prints `message` unless another rank has already printed the same.
    [[noreturn]] void fail(int exit_code, const std::string& message);

    const MonitoredRanks& watch_list() const noexcept { return list_; }

    /// Marks this rank as finishing.
    ///
    /// Call it before MPI_Finalize: from then on, peers may exit without a report.
    void announce_exit() noexcept;

  private:
    void begin_wait(ActivityState doing, std::string_view what) noexcept;
    void run();
    /// Sleeps until a process ends or a poll is due. Returns true if a process may have ended.
    bool wait_for_event();
    void wake() noexcept;
    void diagnose();
    bool is_dead(std::size_t peer) const;
    [[noreturn]] void leave_dead_peer(std::size_t peer);

    MonitoredRanks list_;
    std::vector<FileHandle> processes_;  ///< by peer; empty for this rank, and if not supported
    std::vector<bool> ended_;            ///< by peer: it has finished
    FileHandle launcher_;
    FileHandle wake_;  ///< ends the thread's sleep
    std::atomic<double> timeout_seconds_{first_timeout_seconds};
    std::atomic<double> stopped_timeout_seconds_;
    std::atomic<bool> stops_{false};
    std::mutex looking_;
    std::function<std::string()> ending_launcher_;
    std::atomic<bool> is_finishing_{false};  ///< announce_exit() was called
    ActivityState doing_ =
        ActivityState::works;  ///< cached value of the board, used by the publishing thread
    ProcessAbort departure_;
    AbortHandler reasons_;
    RemoteHeartbeat questions_;  ///< used by the monitoring thread
    HangWatch hangs_;            ///< used by the monitoring thread
    std::vector<pollfd> asked_;  ///< used by the monitoring thread
    std::thread thread_;
};

}  // namespace ziggurat::comm
