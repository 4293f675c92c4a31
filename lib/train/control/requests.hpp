/// Requests to a running training, from signals, files, time limits and other ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/control/control_files.hpp"
#include "train/control/launcher_grace.hpp"
#include "train/control/stop_signals.hpp"
#include "train/control/time_limit.hpp"
#include "train/step/step_requests.hpp"

namespace ziggurat::train {

/// Origin of the request for the end of a run.
enum class StopCause { none, signal, touch_file, time_limit, another_rank };

/// Returns the exit code of a run that stopped on request: "run again", or "no checkpoint".
///
/// The latter applies if the run saves no checkpoints (checkpoint.every: none). It would start from scratch
/// if it ran again, so scripts must not repeat it automatically.
int exit_code_of_stop(bool saves);

/// Progress of training at the time of a message of rank 0.
struct TrainingPosition {
    std::int64_t steps_done = 0;
    bool is_in_step = true;        ///< the next step is running, or can no longer be prevented
    bool is_starting = false;      ///< no step of this process has begun, so a stop saves no checkpoint
    double step_seconds = 0;       ///< time of one step; 0: unknown
    std::int64_t saved_step = -1;  ///< step of the newest complete checkpoint; -1: no checkpoint
};

/// Message of rank 0 about a request.
struct RequestMessage {
    std::string text;
    std::string signal;  ///< name of the signal; empty if the request came from elsewhere
    int level = 0;       ///< level of StopSignals
};

/// Collects the requests to this rank for the end of a step, and reports agreed requests as messages.
///
/// Requests come from signals to this process and, on rank 0, from touch files and the time limit.
///
/// Collective: local. Cheap between ops: some atomic loads, and the clock if there is a time limit.
class Requests {
  public:
    /// Actions that this run can perform on request.
    struct RunCapabilities {
        bool saves = false;
        bool validates = false;
    };

    /// Returns the end that the process which sent SIGTERM announces, if it soon kills this process.
    using FindEnd = std::function<std::optional<LauncherGrace>(pid_t)>;

    /// \param folder  run directory, on rank 0; empty on other ranks
    /// \param limit   time limit, on rank 0, if there is one
    Requests(StopSignals& signals,
             const std::string& folder,
             std::optional<TimeLimit> limit,
             const RunCapabilities& abilities,
             FindEnd find_end = find_launcher_end);

    /// Reads requests to stop this rank from touch files and the time limit.
    ///
    /// Call during work between steps, then read requested().
    ///
    /// \param has_unsaved_steps  false: no checkpoint follows, so the time is used up to its end
    void poll(bool has_unsaved_steps);
    /// Adds the requests to this rank. Call between ops, so that the end of a step includes late requests.
    void put_into(StepRequests& step_requests);
    /// Handles the requests of all ranks, `agreed`, at the end of a step.
    ///
    /// Removes the granted requests from `step_requests`, which are this rank's own.
    void step_ended(const StepRequests& agreed, double step_seconds, StepRequests& step_requests);
    /// Handles a stop that ranks have agreed on outside of a step.
    void agreed_to_stop(int level);
    /// Sets the time that a save takes.
    void checkpoint_took(double seconds) noexcept;

    /// Returns the requested level of this process.
    int requested() const noexcept { return std::max(own_level_, signals_.requested()); }
    /// Returns the level that all ranks have agreed on.
    int agreed() const noexcept { return agreed_; }

    /// Returns the next message that was not returned before; nullopt if there is no more. For rank 0.
    std::optional<RequestMessage> next_message(const TrainingPosition& now);
    /// Returns notes on touch files that are older than this run.
    std::vector<std::string> notes() const;
    /// Returns the source of the first request: `SIGUSR1`, `STOP`, `time limit`, `another rank`.
    ///
    /// metrics.jsonl uses the same text.
    std::string reason() const;
    /// Returns the launcher that was interrupted and therefore ends this job with its own exit code.
    std::optional<LauncherGrace> launcher_end() const;

  private:
    static constexpr std::size_t num_pending = 3;

    /// Request for an action at the end of a step.
    struct PendingRequest {
        StepRequest step_request;
        ControlFile file;
        bool is_possible = false;
        bool is_pending = false;
    };

    void ask(PendingRequest& request, const std::string& who);
    void acknowledge(ControlFile file);
    void find_cause();
    std::string stop_text(const TrainingPosition& now) const;
    /// Returns a warning that the launcher may kill the ranks before they have saved; else an empty text.
    std::string killed_text(const TrainingPosition& now, const LauncherGrace& end) const;

    StopSignals& signals_;
    std::optional<ControlFiles> files_;
    std::optional<TimeLimit> limit_;
    RunCapabilities abilities_;
    FindEnd find_end_;
    double save_seconds_ = 0;
    std::array<PendingRequest, num_pending> pending_;
    std::vector<std::string> unreported_;
    StopCause cause_ = StopCause::none;
    int own_level_ = 0;  ///< requested by a file or the time limit
    int agreed_ = 0;
    int last_reported_ = 0;
};

}  // namespace ziggurat::train
