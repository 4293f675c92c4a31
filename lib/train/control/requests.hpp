/// Requests to a running training, from signals, files, time limits and other ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/control/launcher_end.hpp"
#include "train/control/stop_signals.hpp"
#include "train/control/time_limit.hpp"
#include "train/control/touch_files.hpp"
#include "train/step/step_requests.hpp"

namespace ziggurat::train {

/// Origin of the request for the end of a run.
enum class StopCause { none, signal, touch_file, time_limit, another_rank };

/// Of a run that stopped as it was asked: that of "run me again", or of a missing checkpoint where nothing is
/// saved (checkpoint.every is none). Running that again would begin afresh, which no script should do by
/// itself.
int exit_code_of_stop(bool saves);

/// Progress of training when rank 0 says something.
struct Moment {
    std::int64_t steps_done = 0;
    bool is_in_step = true;        ///< the next step is under way, or nothing can keep it from beginning
    double step_seconds = 0;       ///< what a step takes; 0: not known
    std::int64_t saved_step = -1;  ///< the newest with a complete checkpoint; -1: none
};

/// Message of rank 0 about a request.
struct RequestNews {
    std::string text;
    std::string signal;  ///< its name; empty when no signal has asked
    int level = 0;       ///< of StopSignals
};

/// Signals of this process and, on rank 0, touch files and the time limit, turned into step_requests for the
/// end of a step; and what ranks have agreed on, turned back into something to say.
///
/// Collective: local. Cheap between ops: some atomic loads and, with a time limit, the clock.
class Requests {
  public:
    /// Abilities of this run, which requests may ask for.
    struct Abilities {
        bool saves = false;
        bool validates = false;
    };

    /// Says whether the process that asked to stop ends this one soon by itself.
    using FindEnd = std::function<std::optional<LauncherEnd>(pid_t)>;

    /// \param folder  of the run, on rank 0; empty elsewhere
    /// \param limit   on rank 0, where there is one
    Requests(StopSignals& signals,
             const std::string& folder,
             std::optional<TimeLimit> limit,
             const Abilities& abilities,
             FindEnd find_end = find_launcher_end);

    /// Adds what this rank asks for; between ops, so that a step's end takes it along as late as it can.
    void put_into(StepRequests& step_requests);
    /// All ranks have agreed on `agreed`; `step_requests` are this rank's own, from which what was granted is
    /// taken.
    void step_ended(const StepRequests& agreed, double step_seconds, StepRequests& step_requests);
    /// A stop that ranks have agreed on outside of a step.
    void agreed_to_stop(int level);
    /// What a save takes; 0: not known yet.
    void checkpoint_took(double seconds) noexcept;

    /// The level that this process was asked for, and the one that all ranks agree on.
    int requested() const noexcept { return std::max(own_level_, signals_.requested()); }
    int agreed() const noexcept { return agreed_; }

    /// The next message that was not given yet. For rank 0.
    std::optional<RequestNews> news(const Moment& now);
    /// Notes on files from before this run that were deleted.
    std::vector<std::string> notes() const;
    /// Origin of the first request, as in metrics.jsonl: `SIGUSR1`, `STOP`, `time limit`, `another rank`.
    std::string reason() const;
    /// The launcher that ends this job because it was interrupted, and returns a code of its own.
    std::optional<LauncherEnd> launcher_end() const;

  private:
    static constexpr std::size_t num_pending = 3;

    /// Something to be done at a step's end, and then never mind.
    struct PendingRequest {
        StepRequest step_request;
        TouchFile file;
        bool is_possible = false;
        bool is_pending = false;
    };

    void ask(PendingRequest& request, const std::string& who);
    void obey(TouchFile file);
    void find_cause();
    std::string stop_text(const Moment& now) const;
    /// Empty where nobody kills the ranks before they have saved.
    std::string killed_text(const Moment& now, const LauncherEnd& end) const;

    StopSignals& signals_;
    std::optional<TouchFiles> files_;
    std::optional<TimeLimit> limit_;
    Abilities abilities_;
    FindEnd find_end_;
    double save_seconds_ = 0;
    std::array<PendingRequest, num_pending> pending_;
    std::vector<std::string> untold_;
    StopCause cause_ = StopCause::none;
    int own_level_ = 0;  ///< asked for by a file or the time limit
    int agreed_ = 0;
    int told_ = 0;
};

}  // namespace ziggurat::train
