/// Training loop of one rank: all steps of a run, with its validations, saves and reports.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "comm/context.hpp"
#include "data/corpus.hpp"
#include "device/device.hpp"
#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"
#include "train/account/resident_memory.hpp"
#include "train/account/run_account.hpp"
#include "train/control/requests.hpp"
#include "train/control/roll_back.hpp"
#include "train/control/skip_limit.hpp"
#include "train/control/spike_detector.hpp"
#include "train/control/training_course.hpp"
#include "train/control/validation_due.hpp"
#include "train/evaluation.hpp"
#include "train/feeder.hpp"
#include "train/report/reporter.hpp"
#include "train/report/run_context.hpp"
#include "train/report/slow_path_watch.hpp"
#include "train/save/checkpointer.hpp"
#include "train/save/data_guard.hpp"
#include "train/save/resume.hpp"
#include "train/save/validation_judge.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// End of a loop: the exit code of the run, or where a loop anew has to go on.
struct LoopEnd {
    int exit_code = 0;
    std::optional<RollBack> back = {};
};

/// Everything that lives from the first step to the last, and the step itself.
///
/// Collective: construction and run(), over `world`
class TrainingLoop {
  public:
    /// Resumes from a checkpoint or sets initial values.
    ///
    /// \param tokenizer  of samples; null where the run has none. Outlives this
    /// \param back  why a run that has gone on before begins this loop
    /// Errors: those of Assembly and resume()
    TrainingLoop(const spec::RunSpec& spec,
                 const comm::Context& world,
                 const device::Processors& processors,
                 const data::Corpus& corpus,
                 const data::TextTokenizer* tokenizer,
                 DataGuard& data,
                 const RunContext& context,
                 Requests& requests,
                 Reporter& reporter,
                 const std::optional<RollBack>& back = {});

    /// Trains until all steps are done, the run is asked to stop, or goes back.
    ///
    /// Errors: those of executors and of saving; of several ranks with late devices, the one that fails ends
    ///         the job at once
    LoopEnd run();

  private:
    LoopEnd train();
    /// An earlier job in the same folder has done all steps, or its validation losses have ended the run.
    bool was_finished() const;
    /// All steps are done, or validation losses have ended the run.
    bool is_finished() const { return step_ >= spec_.train.steps || !why_ended_.empty(); }
    checkpoint::TrainingProgress progress() const;
    void one_step();
    /// Tells a spike of the step that is done, remembers the step, and goes back where that is asked for.
    void look_for_spike(StepReport& report);
    /// Warns once: there may be many such batches.
    void warn_of_no_targets();
    void say_news(bool is_in_step = true);
    /// Memory of this process besides arenas, in no tier.
    std::int64_t process_bytes() const;
    /// Whether all ranks leave off what they are at. Collective: over all ranks
    bool is_to_stop();
    /// Validates and samples, while the save under way goes on; what remains is left out when the run is to
    /// stop.
    void validate();
    /// Writes the account so far: asked for, or the last one if the run is killed before the next.
    void tell_account(bool is_shown);
    void report_end(int exit_code);
    Account& times() { return account_.times(); }

    spec::RunSpec spec_;  ///< its train.steps is what the run ends after, wherever it goes on from
    Requests& requests_;
    Reporter& reporter_;
    const data::TextTokenizer* tokenizer_;
    DataGuard& data_;
    ResidentMemory resident_;
    device::Processors processors_;
    std::int64_t begin_ns_ = monotonic_ns();
    Assembly assembly_;
    comm::Context world_;  ///< goes on with the steps that the assembly has begun
    schedule::ModelLayout model_;
    Resumed resumed_;
    ValidationJudge judge_;
    TrainingCourse course_;
    data::OrderRecord order_;  ///< of samples
    Feeder feeder_;
    Evaluation evaluation_;
    std::int64_t step_ = resumed_.progress.step;  ///< steps done
    RunAccount account_;
    Checkpointer checkpointer_;
    int data_activity_ = -1, validation_activity_ = -1, sampling_activity_ = -1, logging_activity_ = -1;
    std::int64_t tokens_ = resumed_.progress.tokens;
    ValidationDue validation_due_{spec_, world_, tokens_};
    SlowPathWatch slow_path_{world_, assembly_, reporter_};
    SkipLimit skips_{resumed_.progress.skipped, resumed_.progress.skipped_in_a_row};
    SpikeDetector spikes_{spec_.train.spikes, resumed_.progress.recent};
    std::optional<RollBack> back_;       ///< to be gone to after this step
    std::string why_ended_;              ///< before its last step, by validation losses
    std::vector<SourceLoss> by_source_;  ///< of several training sources, of the latest step
    std::int64_t process_peak_bytes_ = 0;
    std::array<std::int64_t, 3> most_bytes_{};  ///< by tier: of the arenas of the rank that has most
    bool has_warned_of_no_targets_ = false;
};

}  // namespace ziggurat::train
