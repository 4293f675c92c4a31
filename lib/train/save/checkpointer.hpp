/// Checkpointer: saves the state of a run asynchronously, during training.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_folder.hpp"
#include "checkpoint/manifest.hpp"
#include "comm/context.hpp"
#include "spec/run_spec.hpp"
#include "train/account/accounting.hpp"
#include "train/control/background_task.hpp"
#include "train/control/interval_trigger.hpp"
#include "train/report/reporter.hpp"
#include "train/save/checkpoint_directory.hpp"
#include "train/save/save_protocol.hpp"
#include "train/save/snapshot.hpp"
#include "train/step/state_view.hpp"
#include "train/step/step_requests.hpp"

namespace ziggurat::train {

class DataGuard;
struct RunContext;

/// Returns `<run.dir>/ckpt`.
std::string checkpoint_root(const spec::RunSpec& spec);

/// Writer of the checkpoints of a run, one at a time; a new save waits for the running one.
///
/// Every rank copies its part of the state (Snapshot). It copies state on NVMe when the next updates read it
/// (SaveStream). Training continues while a separate thread writes. After all ranks have written, a thread of
/// rank 0 completes the checkpoint, also during training. The reduction at the end of each step carries the
/// progress of a save (SaveProtocol), so a save needs no communication of its own.
///
/// A save that fails on any rank fails on all. The failure is reported, training continues, and complete
/// checkpoints stay. The reporter prints all messages. Time for which training is blocked is accounted.
class Checkpointer {
  public:
    /// Number of consecutive failed saves that a run survives; the next failure ends the run.
    static constexpr int max_failures = 5;

    /// \param mine        this rank's step_requests, which carry its reports to the other ranks
    /// \param saved_step  the newest step of which run.dir has a checkpoint; -1: none
    /// \param data        checked before each save and recorded with it; outlives this. nullptr: neither
    /// Collective: over `world`
    Checkpointer(const spec::RunSpec& spec,
                 const RunContext& context,
                 const comm::Context& world,
                 const StateView& state,
                 StepRequests& mine,
                 Reporter& reporter,
                 TimeAccounting& account,
                 std::int64_t saved_step,
                 DataGuard* data = nullptr);

    /// Returns true if the run saves periodically (checkpoint.every).
    bool is_on() const noexcept { return spec_.checkpoint.every.has_value(); }

    /// Returns the phase of the running save.
    SavePhase phase() const noexcept { return protocol_.phase(); }

    /// Requests a checkpoint after the current step. Any rank may call it. Collective: local
    void request() noexcept { mine_[StepRequest::checkpoint] = 1; }

    /// Checks between ops if this rank's part is written, or if a checkpoint is due by time.
    ///
    /// The call is cheap: it allocates only if one of the two is true.
    ///
    /// Collective: local
    void check_now();

    /// Advances the running save between steps and starts a due one; returns true if it started a save.
    ///
    /// \param step      number of completed steps; `tokens` is the number of tokens consumed by them
    /// \param counts    step_requests of all ranks at the end of the step
    /// \param progress  returns the progress that a resumed run will read; called when a save starts
    ///
    /// Collective: over all ranks
    /// Errors:     Error{resource} on all ranks after max_failures + 1 failures in a row
    bool after_step(std::int64_t step,
                    std::int64_t tokens,
                    const StepRequests& counts,
                    const std::function<checkpoint::TrainingProgress()>& progress);

    /// Protects the checkpoints of these steps from deletion (best validation losses). Collective: local
    void keep(std::vector<std::int64_t> best) { best_ = std::move(best); }
    /// Saves this step if it is one of the steps of keep() and is not saved yet.
    ///
    /// Collective: over all ranks, with the same arguments
    /// Errors:     those of after_step()
    void save_best(const checkpoint::TrainingProgress& progress);

    /// Prepares the running save for a pause in stepping. Collective: local
    ///
    /// The save then reads the remaining state from its home tier instead of from the next updates. If a step
    /// follows nevertheless, its updates wait for the save.
    void prepare_for_pause();
    /// Advances the running save without a step, with a reduction of its own (for example in a validation).
    ///
    /// Collective: over all ranks
    /// Errors:     those of after_step()
    void update_between_steps();

    /// Waits for the running save; starts no new one. Collective: over all ranks
    void drain();

    /// Completes all saves at the end of a run; returns false if the last one failed.
    ///
    /// It waits for the running save. If is_on() and this step is not saved yet, it then saves this step
    /// directly from the state, without a copy.
    ///
    /// Collective: over all ranks
    bool finish(const checkpoint::TrainingProgress& progress);

    /// Returns the newest step with a complete checkpoint; -1 without one.
    std::int64_t saved_step() const noexcept { return saved_step_; }
    /// Returns the duration of the slowest save so far, without its waits for the ends of steps.
    ///
    /// Units: seconds, from the first byte to the end. Valid on rank 0; 0 on the other ranks.
    double slowest_seconds() const noexcept { return slowest_seconds_; }
    /// Returns this rank's path to the run directory, which stays valid if that is renamed.
    const std::string& fd_path() const noexcept { return directory_.fd_path(); }
    /// Returns the bytes of a checkpoint on disk, summed over all ranks.
    std::int64_t bytes() const noexcept { return bytes_; }

  private:
    /// Saves asynchronously if the program has a buffer for a copy of the state, else synchronously.
    void save_now(const checkpoint::TrainingProgress& progress);
    /// Starts a save on all ranks, or fails it on all ranks.
    void begin(const checkpoint::TrainingProgress& progress, bool is_async);
    /// Advances the save with the reports of all ranks.
    SaveEvent update(const StepRequests& counts);
    std::string reason_of_all();
    void commit();
    void succeed();
    /// Ends the save as failed, on all ranks.
    void fail(const std::string& reason);
    /// Returns on all ranks the newest step whose checkpoint still exists, as rank 0 reads the folder.
    std::int64_t newest_remaining() const;
    /// Waits until no save is running; ends the job if no bytes are written for too long.
    void wait();
    /// Ends the job on all ranks because the running save hangs; the message names the missing rank.
    [[noreturn]] void abort_hung_save();
    /// Returns the time for which the running save has blocked training, in seconds.
    double blocked_seconds() const;

    const spec::RunSpec& spec_;
    const RunContext& context_;
    comm::Context world_;
    StepRequests& mine_;
    Reporter& reporter_;
    TimeAccounting& account_;
    CheckpointDirectory directory_;
    int saving_activity_;
    int stall_activity_;
    SaveStream& stream_;
    Snapshot snapshot_;
    SaveProtocol protocol_;
    BackgroundTask::Result result_;             ///< result of the task, until the end of the phase
    std::optional<checkpoint::Commit> commit_;  ///< on rank 0, while a save is running
    std::optional<IntervalTrigger> due_;        ///< by steps and tokens, which all ranks count identically
    std::int64_t last_begin_ns_;
    bool is_asynchronous_ = false;           ///< the running save is asynchronous
    bool streams_ = false;                   ///< this rank's part of it comes from a SaveStream
    bool may_throw_ = true;                  ///< one failure too many ends the run
    checkpoint::TrainingProgress progress_;  ///< progress that the running save records
    std::int64_t bytes_ = 0;                 ///< bytes of the shards
    std::int64_t needed_ = 0;                ///< free bytes on disk that a save needs
    std::int64_t saved_step_;
    std::vector<std::int64_t> best_;  ///< steps whose checkpoints are kept
    DataGuard* data_;
    int failures_in_a_row_ = 0;
    double slowest_seconds_ = 0;
    double copy_seconds_ = 0;  ///< from the start of the running save until training could continue
    double work_seconds_ = 0;  ///< duration of the running save, set by rank 0's task
    BackgroundTask task_;      ///< last member: it is destroyed before the objects that it uses
};

}  // namespace ziggurat::train
