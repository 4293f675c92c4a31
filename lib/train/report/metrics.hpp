/// metrics.jsonl: one JSON object per step and per event, to be read by programs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/file_handle.hpp"
#include "base/text/json_number.hpp"
#include "train/account/planned_step.hpp"
#include "train/account/run_end.hpp"
#include "train/account/step_fields.hpp"
#include "train/account/step_report.hpp"
#include "train/account/utilisation.hpp"
#include "train/console/retried_output.hpp"
#include "train/hook/event_hook.hpp"
#include "train/ops/unit_norms.hpp"
#include "train/report/lost_end.hpp"

namespace ziggurat::train {

/// Facts that do not change during a run, written once as `event: start`.
struct RunFacts {
    std::string name = {};
    std::string version = {};
    std::int64_t ranks = 1;
    std::int64_t threads = 1;
    std::int64_t steps = 0;
    std::int64_t parameters = 0;
    std::int64_t tokens_per_step = 0;
    double flops_per_token = 0;
    /// Budgets of a rank, by spec::Tier. For tiers that belong to a node: the part of the rank.
    spec::ByTier<std::int64_t> budget_bytes{};
    std::uint64_t seed = 0;
    std::string objective = "next_token";  ///< as in train.objective
    Peak peak = {};                        ///< peak rate for the utilisation
    PlannedStep planned = {};              ///< written as `plan_step_s` and `plan_bound_s` if it is known
    std::int64_t oom_kills = 0;            ///< in the control group before this job (base/control_group.hpp)
    std::string attention = {};            ///< kernels that compute attention, as in kernels::names_of
    StepFields fields = {};
};

/// Appends events to run.dir/metrics.jsonl.
///
/// Each line is one write(2), so a killed run leaves whole lines. Every event has `time`, seconds since 1970,
/// UTC. No allocation after the first lines while writes succeed. RetriedOutput tries a failed write
/// again, and `print` prints messages about that. Training continues.
///
/// Collective: local; rank 0 has one
/// Numerics:   numbers keep their bits when read back; nonfinite: null, with a flag `<field>_nonfinite`
/// Errors:     Error{resource}, of the constructor
class Metrics {
  public:
    /// Prints a warning or a note.
    using Print = std::function<void(Severity, std::string_view)>;

    Metrics(const std::string& path, Print print);

    /// Sets the hook that gets the events from now on, also those that cannot be written; may be null.
    void set_hook(EventHook* hook) noexcept { hook_ = hook; }

    /// Writes `start`. Call once, before the first step.
    void start(const RunFacts& facts);
    /// Writes `step`, and before it `peak` if the step raises the peak.
    ///
    /// For each source that begins an epoch in this step, except its first one, it then writes `epoch`, with
    /// `source` and `epoch`, counted from 1.
    ///
    /// The fields are those of the report that can be nonzero in this run (StepFields), and:
    /// - `tok_s_rank`: tokens per second and rank.
    /// - `mfu`: model FLOPs utilisation, relative to the peak of `start` or of the latest event `peak` before
    ///   it; omitted if the peak is unknown. `peak` has `step` and `peak_flops_rank`.
    /// - `plan_bound_share`: share of the plan's lower bound, which is `plan_bound_s` of `start`, in
    /// `step_s`;
    ///   omitted if the step was not planned. `plan_step_s` of `start` is the planned step.
    /// - `stall_<lane>_cause`: the longest wait for that lane, or null.
    /// - `sent_<purpose>_B`: bytes that all ranks have sent to other ranks since the previous row, counted
    ///   when they were copied. A rank counts up to the moment when it knows its part of the gradient norm.
    ///   Bytes that a step sends later, such as parameters after the update, are in the next row.
    /// - `plan_<purpose>_B`: planned bytes of one step of all ranks.
    /// - `nvme_read_B`, `nvme_written_B`, `host_to_device_B`, `device_to_host_B` and their `plan_`: the same
    ///   for bytes that all ranks have moved between tiers.
    /// - `process_peak_B`: maximum over the ranks.
    void step(const StepReport& report);
    /// Writes `resume`: the run resumes from a checkpoint of `step`. Earlier rows are of earlier jobs.
    void resume(std::int64_t step);
    void validate(const ValidationReport& report);
    /// Records that no earlier validation of the same data has such a low loss.
    void best(const ValidationReport& report);
    /// Writes `norms`: the objects `gradient`, `weights` and `update` with the norm of each unit.
    void norms(std::int64_t step, std::span<const UnitNorms> units);
    /// Writes `spike`: values of the step, their standard deviations above the mean of earlier steps, and
    /// whether its update was skipped.
    void spike(const StepReport& report);
    /// Writes `roll_back`: a spike in step `from` has caused a rollback to the checkpoint of `step`.
    ///
    /// Training continues with the sample of global index `next_sample`.
    void roll_back(std::int64_t step, std::int64_t from, std::int64_t next_sample);
    /// Writes the start of a save. `is_async`: the save runs concurrently with training.
    void checkpoint_begin(std::int64_t step, std::int64_t bytes, bool is_async);
    /// Writes the end of a save: complete (`ok`), or failed with a reason.
    ///
    /// `stood_still_s`: time for which training was blocked on rank 0, by copying or, if not `async`, by
    /// writing.
    void checkpoint_end(const CheckpointReport& report);
    /// Writes a received signal. `level` as in StopSignals.
    void signal(std::string_view name, int level, std::int64_t step);
    /// Writes the end of the previous job, which that job could not write.
    void lost_end(const LostEnd& end);
    /// Writes a human-readable warning, with the latest step.
    void warning(std::string_view text);
    /// Writes that the run ends before its last step, and the reason.
    void stop(std::string_view reason, std::int64_t step);
    void end(const RunEnd& facts);

    /// Returns the current peak of the utilisation in FLOP/s per rank, as raised by steps; 0 if unknown.
    double peak_flops_rank() const noexcept { return peak_flops_rank_; }

    const std::string& path() const noexcept { return file_.path(); }
    /// Returns a duplicate descriptor of the file, for a flush concurrent with training; invalid if closed.
    FileHandle again() const;
    /// Continues in a new file at the same path, after the file was removed.
    ///
    /// Errors: Error{resource}
    void reopen() { file_.replace(open_for_writing(path(), OpenMode::append), path()); }
    /// Writes the last line of a run that ends with an error. Later lines are ignored. Any thread, at any
    /// time.
    ///
    /// Returns true if the line was written.
    bool break_down(std::string_view reason, int exit_code) noexcept;

  private:
    void begin(std::string_view event);
    /// Writes the losses and the target tokens of each source, if there are several sources.
    void loss_by_source(std::span<const SourceLoss> losses, bool has_pairs);
    void rewards(const std::optional<RewardMeans>& means);
    /// Writes `sent_<purpose>_B` and `plan_<purpose>_B`.
    void sent(const schedule::BytesByPurpose& counted,
              const schedule::BytesByPurpose& planned,
              const StepFields& kept);
    /// Writes the bytes of each link, such as `nvme_read_B`, and of the plan, such as `plan_nvme_read_B`.
    void moved(const schedule::BytesByLink& counted,
               const schedule::BytesByLink& planned,
               const StepFields& kept);
    /// Writes the line and passes it to the hook. \param exit_code  of the run, for `end`
    void write(int exit_code = 0);

    void print_message(const std::optional<RetriedOutput::Message>& message) const;

    Print print_;
    EventHook* hook_ = nullptr;
    std::string_view event_ = {};  ///< of the line that is being written
    JsonLine line_;
    RetriedOutput file_;
    StepFields fields_;
    std::int64_t ranks_ = 1;
    double peak_flops_rank_ = 0;
    std::atomic<std::int64_t> step_{0}, tokens_{0};  ///< of the latest step
    std::atomic<bool> is_open_{true};                ///< further lines are allowed
};

}  // namespace ziggurat::train
