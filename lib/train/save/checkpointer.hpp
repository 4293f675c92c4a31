/// Checkpointer: saves the state of a run beside training.
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
#include "train/control/due.hpp"
#include "train/report/reporter.hpp"
#include "train/save/checkpoint_place.hpp"
#include "train/save/save_protocol.hpp"
#include "train/save/snapshot.hpp"
#include "train/step/held_state.hpp"
#include "train/step/step_requests.hpp"

namespace ziggurat::train {

class DataGuard;
struct RunContext;

/// `<run.dir>/ckpt`.
std::string checkpoint_root(const spec::RunSpec& spec);

/// Saves when a checkpoint is due: every rank copies its part (Snapshot), or takes what lies on NVMe from
/// the next updates as they read it (SaveStream), and goes on training while a thread of its own writes;
/// when all have written, rank 0 makes the checkpoint complete, beside training as well. Progress of a save
/// travels with the small sum at the end of each step (SaveProtocol), so ranks need no exchange for it. One
/// save is under way at a time; the next one waits for it.
///
/// A save that fails on any rank fails on all: it is told, training goes on and what was complete stays.
/// Messages go through the reporter; time for which training stands still, into the account.
class Checkpointer {
  public:
    /// So many saves in a row may fail; with the next one the run ends.
    static constexpr int most_failures = 5;

    /// \param mine        this rank's step_requests, which take its word along
    /// \param saved_step  the newest step of which run.dir has a checkpoint; -1: none
    /// \param data        looked at before each save, and recorded with it; outlives this; null: neither
    /// Collective: over `world`
    Checkpointer(const spec::RunSpec& spec,
                 const RunContext& context,
                 const comm::Context& world,
                 const HeldState& state,
                 StepRequests& mine,
                 Reporter& reporter,
                 Account& account,
                 std::int64_t saved_step,
                 DataGuard* data = nullptr);

    /// Whether the run saves without being asked.
    bool is_on() const noexcept { return spec_.checkpoint.every.has_value(); }

    /// Somebody asks for a checkpoint after the step under way. Any rank may; local.
    void request() noexcept { mine_[StepRequest::checkpoint] = 1; }

    /// Between ops: whether this rank's part is done, or time is up. Cheap, no allocation unless something
    /// is.
    ///
    /// Collective: local
    void look();

    /// Between steps: what all ranks have learned, and a new save where one is due.
    ///
    /// \param step      steps done, and tokens consumed by them
    /// \param counts    step_requests of all ranks at the end of the step
    /// \param progress  as it will be found when the run goes on; asked for when a save begins
    /// Returns whether one has begun.
    ///
    /// Collective: over all ranks
    /// Errors:     Error{resource} on all ranks alike after most_failures + 1 failures in a row
    bool after_step(std::int64_t step,
                    std::int64_t tokens,
                    const StepRequests& counts,
                    const std::function<checkpoint::TrainingProgress()>& progress);

    /// From now on the checkpoints of these steps stay for their validation losses. Collective: local
    void keep(std::vector<std::int64_t> best) { best_ = std::move(best); }
    /// Saves this step where it is one of those that stay for their losses and is not saved yet.
    ///
    /// Collective: over all ranks, alike on all
    /// Errors:     as of after_step()
    void save_best(const checkpoint::TrainingProgress& progress);

    /// No steps follow for a while: what the save under way would have taken from their updates it takes from
    /// where it lies. A step that follows all the same waits for it with its updates. Collective: local
    void expect_standstill();
    /// Where there are no steps whose end would tell: what all ranks have learned of the save under way.
    ///
    /// Collective: over all ranks
    /// Errors:     as of after_step()
    void learn_beside_steps();

    /// What is under way ends; nothing new begins. Collective: over all ranks
    void drain();

    /// At the end of a run: what is under way ends; then, if the run saves at all and this step is not saved
    /// yet, it is, from where the state lies. False when that failed.
    ///
    /// Collective: over all ranks
    bool finish(const checkpoint::TrainingProgress& progress);

    /// The newest step of which there is a complete checkpoint; -1: none.
    std::int64_t saved_step() const noexcept { return saved_step_; }
    /// Of the slowest save so far, from its first byte to its end, without what it waited for steps to end.
    /// On rank 0; 0 elsewhere.
    double slowest_seconds() const noexcept { return slowest_seconds_; }
    /// This rank's way into the run's folder, whatever somebody calls it meanwhile.
    const std::string& way() const noexcept { return place_.way(); }
    /// Bytes on disk of a checkpoint, of all ranks.
    std::int64_t bytes() const noexcept { return bytes_; }

  private:
    /// Beside training where there is room for a copy of the state, else at once.
    void save_now(const checkpoint::TrainingProgress& progress);
    /// All ranks begin, or all have failed already.
    void begin(const checkpoint::TrainingProgress& progress, bool is_async);
    /// Goes on with the save by what all ranks have told.
    SaveNews learn(const StepRequests& counts);
    std::string reason_of_all();
    void commit();
    void succeed();
    /// Of all ranks.
    void fail(const std::string& reason);
    /// The newest step that is still there, as rank 0 sees it.
    std::int64_t newest_left() const;
    /// Waits until nothing is under way, or files have not answered for too long.
    void wait();
    /// The save under way never ends: all ranks leave, and say whose part is missing.
    [[noreturn]] void leave_hanging_save();
    /// Training, for the save under way.
    double stood_still_seconds() const;

    const spec::RunSpec& spec_;
    const RunContext& context_;
    comm::Context world_;
    StepRequests& mine_;
    Reporter& reporter_;
    Account& account_;
    CheckpointPlace place_;
    int saving_activity_;
    int stall_activity_;
    SaveStream& stream_;
    Snapshot snapshot_;
    SaveProtocol protocol_;
    BackgroundTask::Result result_;             ///< of the task, from the word on to the end of the phase
    std::optional<checkpoint::Commit> commit_;  ///< on rank 0, while a save is under way
    std::optional<Due> due_;                    ///< by steps and tokens, which all ranks count alike
    std::int64_t last_begin_ns_;
    bool is_asynchronous_ = false;           ///< the save under way
    bool streams_ = false;                   ///< of it this rank's part, from what updates let pass
    bool may_throw_ = true;                  ///< a failure too many
    checkpoint::TrainingProgress progress_;  ///< of the save under way
    std::int64_t bytes_ = 0;                 ///< of the shards
    std::int64_t needed_ = 0;                ///< on disk while a checkpoint is written
    std::int64_t saved_step_;
    std::vector<std::int64_t> best_;  ///< steps whose checkpoints stay
    DataGuard* data_;
    int failures_in_a_row_ = 0;
    double slowest_seconds_ = 0;
    double copy_seconds_ = 0;  ///< until training could go on beside the save under way
    double work_seconds_ = 0;  ///< of rank 0's task: what the save under way has taken
    BackgroundTask task_;      ///< last: it ends before what it works on
};

}  // namespace ziggurat::train
