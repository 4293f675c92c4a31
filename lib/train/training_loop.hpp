/// Training loop of one rank: all steps of a run, with its validations, checkpoints and reports.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/stop_check.hpp"
#include "comm/context.hpp"
#include "data/corpus.hpp"
#include "device/device.hpp"
#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"
#include "spec/weight_versions.hpp"
#include "train/account/resident_memory.hpp"
#include "train/account/run_account.hpp"
#include "train/control/requests.hpp"
#include "train/control/roll_back.hpp"
#include "train/control/skip_limit.hpp"
#include "train/control/spike_detector.hpp"
#include "train/control/steps_in_flight.hpp"
#include "train/control/training_schedule.hpp"
#include "train/control/validation_trigger.hpp"
#include "train/data_loader.hpp"
#include "train/evaluation.hpp"
#include "train/preference/reference_scores.hpp"
#include "train/report/reporter.hpp"
#include "train/report/run_context.hpp"
#include "train/report/slow_path_watch.hpp"
#include "train/resume/resume.hpp"
#include "train/sample_prompt.hpp"
#include "train/save/checkpointer.hpp"
#include "train/save/data_guard.hpp"
#include "train/save/validation_tracker.hpp"
#include "train/source_use.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Result of a loop: the exit code of the run, or the position from which a new loop must continue.
struct LoopEnd {
    int exit_code = 0;
    std::optional<RollBack> back = {};
};

/// Inputs of a training loop.
///
/// Ownership: borrowed. The loop copies `spec`, `world` and `devices`, and only its constructor reads `back`;
///            the others outlive it. The loop names the checkpoints of inputs in the effective deck of `context`
struct LoopInputs {
    const spec::RunSpec& spec;
    const comm::Context& world;
    const device::RankDevices& devices;
    const data::Corpus& corpus;
    const SamplePrompt& sample;  ///< of validate.sample; empty without samples
    DataGuard& data;
    RunContext& context;
    Requests& requests;
    Reporter& reporter;
    const StopCheck& stop;                ///< of work before the first step
    const std::optional<RollBack>& back;  ///< set if the loop continues the run after a rollback
};

/// Objects that live from the first step to the last, and the step itself.
///
/// Collective: construction and run(), over `world`
class TrainingLoop {
  public:
    /// Resumes from a checkpoint or sets initial values.
    /// Errors: those of Assembly and resume()
    explicit TrainingLoop(const LoopInputs& inputs);

    /// Trains until all steps are done, the run is asked to stop, or a rollback is due.
    ///
    /// Errors: those of executors and of saving. With several ranks and asynchronous devices, a failing rank
    ///         aborts the job
    LoopEnd run();

  private:
    /// Names the checkpoints that the run began with, in place of the runs that the deck names.
    void keep_inputs(RunContext& context);
    LoopEnd train();
    /// True if an earlier job in the same folder has done all steps, or was ended by train.stop_when.
    bool was_finished() const;
    /// True if all steps are done, or if validation losses have ended the run.
    bool is_finished() const { return step_ >= spec_.train.steps || !ended_reason_.empty(); }
    /// True if the run is asked to stop and can do so.
    bool is_to_end() const { return requests_.agreed() > 0 && in_flight_.is_between_steps(); }
    checkpoint::TrainingProgress progress() const;
    /// Runs one step, and reports the steps whose outcome is known.
    void one_step();
    void run_step();
    /// Fills the batches of the step that follows, and the pipeline if it is empty; returns the targets.
    std::int64_t prepare_step();
    /// Ends the oldest step that was run: its outcome is known.
    void end_step();
    bool has_no_flush() const { return spec::has_no_flush(spec_.parallel); }
    /// Returns the requests to handle after the ended step; drains the pipeline soon if others wait for it.
    StepRequests due_requests(const StepRequests& agreed);
    std::int64_t tokens_per_step() const { return spec_.train.global_batch * spec_.data.seq; }
    /// True if the running step changes state before its end.
    ///
    /// It does so by an update in backward, by the publication of the update of the step before, or by stages
    /// that have ended it before others.
    bool changes_state_early() const;
    /// True if the norms of each unit are reported after this step.
    bool are_norms_due(std::int64_t step) const {
        return spec_.logging.norms > 0 && step % spec_.logging.norms == 0;
    }
    /// Reports a loss spike of the completed step, records the step, and schedules a configured rollback.
    void look_for_spike(StepReport& report);
    /// Errors: Error{numerics} if a step that cannot be skipped is not finite
    void check_updated_step();
    /// Warns only once, because there may be many such batches.
    void warn_of_no_targets();
    void print_messages(bool is_in_step = true);
    /// Returns the memory of this process outside of the arenas, in bytes. It belongs to no tier.
    std::int64_t process_bytes() const;
    /// Returns true if all ranks must stop their current work. Collective: over all ranks
    bool is_to_stop();
    /// True until the first step of this process begins.
    bool is_starting() const { return !has_begun_; }
    /// Returns true if an earlier job has done all steps, but its last validation was stopped.
    ///
    /// Collective: over all ranks
    bool lacks_last_validation() const;
    /// Ends a run that was stopped before its first step. Nothing new is to be saved.
    LoopEnd end_before_steps();
    /// Validates and samples while a running save continues. Skips the rest if the run is asked to stop.
    void validate();
    /// Adds the loss of the weights that the state holds. Returns false if it was stopped.
    bool measure_loss(const Evaluation::Stops& stops, ValidationReport& report);
    /// Validates the average, which replaces the weights meanwhile. Returns false if it was stopped.
    ///
    /// \param sample  receives the text of validate.sample if only the average is validated
    bool validate_average(const Evaluation::Stops& stops,
                          ValidationReport& report,
                          std::optional<std::string>& sample);
    /// Returns the continuation of validate.sample; nullopt without it, or if it was stopped.
    std::optional<std::string> generate_sample(const Evaluation::Stops& stops);
    /// Writes the time accounting so far: on request, and after saves in case the run is killed later.
    void print_account(bool is_shown);
    void report_end(int exit_code);
    TimeAccounting& times() { return account_.times(); }

    spec::RunSpec spec_;  ///< train.steps is the last step of the run, not counted from the resumed step
    Requests& requests_;
    Reporter& reporter_;
    StopCheck stop_;
    const SamplePrompt& sample_;
    DataGuard& data_;
    ResidentMemory resident_;
    device::RankDevices devices_;
    std::int64_t begin_ns_ = monotonic_ns();
    Assembly assembly_;
    comm::Context world_;  ///< drives the assembly's unfinished step while it waits
    schedule::ModelLayout model_;
    Resumed resumed_;
    ValidationTracker tracker_;
    TrainingSchedule course_;
    data::DataOrderState order_;  ///< order of the samples
    const data::Corpus& corpus_;
    ReferenceScores references_;
    DataLoader feeder_;
    std::optional<SourceUse> sources_;  ///< empty if the run had finished before
    Evaluation evaluation_;
    std::int64_t step_ = resumed_.progress.step;  ///< steps done, whose outcome is known
    StepsInFlight in_flight_{spec_, assembly_.pipeline_fill(), step_};
    RunAccount account_;
    Checkpointer checkpointer_;
    int data_activity_ = -1, validation_activity_ = -1, sampling_activity_ = -1, logging_activity_ = -1;
    std::int64_t tokens_ = resumed_.progress.tokens;
    ValidationTrigger validation_due_{spec_, world_, tokens_};
    SlowPathWatch slow_path_{world_, assembly_, reporter_};
    SkipLimit skips_{resumed_.progress.skipped, resumed_.progress.skipped_in_a_row};
    double grad_norm_ = resumed_.progress.grad_norm;  ///< of the last step with an update; 0: unknown
    SpikeDetector spikes_{spec_.train.spikes, resumed_.progress.recent};
    std::optional<comm::Communicator> stage_;  ///< ranks of this stage; without a flush only
    std::optional<RollBack> back_;             ///< rollback that is due after this step
    std::string ended_reason_;                 ///< reason of an early end by validation losses
    std::int64_t process_peak_bytes_ = 0;
    spec::ByTier<std::int64_t> max_bytes_{};  ///< by tier: largest arena bytes of any rank
    bool has_warned_of_no_targets_ = false;
    bool lacks_validation_ = false;  ///< all steps are done, but not the validation after the last one
    bool has_begun_ = false;         ///< a step of this process has begun
};

}  // namespace ziggurat::train
