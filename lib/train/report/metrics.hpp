/// metrics.jsonl: one JSON object per step and event, for programs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/file_handle.hpp"
#include "base/json_number.hpp"
#include "train/account/run_end.hpp"
#include "train/account/step_fields.hpp"
#include "train/account/step_report.hpp"
#include "train/account/utilisation.hpp"
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
    /// Of a rank, by spec::Tier; of what belongs to a node, a rank's part.
    std::array<std::int64_t, 3> budget_bytes{};
    std::uint64_t seed = 0;
    Peak peak = {};              ///< of the utilisation
    std::int64_t oom_kills = 0;  ///< of the control group before this job (base/control_group.hpp)
    std::string attention = {};  ///< kernels that compute it, as kernels::names_of
    StepFields fields = {};
};

/// Appends to run.dir/metrics.jsonl; each line is one write(2), so a killed run has whole lines. Every event
/// has `time`, seconds since 1970, UTC.
///
/// No allocation after the first lines. A failed write is told once through `warn` and ends the writing,
/// never the training.
///
/// Collective: local; rank 0 has one
/// Numerics:   numbers read back to the same bits; what is not finite is null with a flag `<field>_nonfinite`
/// Errors:     Error{resource}, of the constructor
class Metrics {
  public:
    using Warn = std::function<void(std::string_view)>;

    Metrics(const std::string& path, Warn warn);

    /// Once, before the first step.
    void start(const RunFacts& facts);
    /// Beside the fields of its report, `tok_s_rank`: tokens per second and rank. `mfu`: model FLOPs
    /// utilisation against the peak of `start`, or of the latest event `peak` before it; not there when none
    /// is known. `stall_<lane>_cause`: what of that lane was waited for longest, or null. `sent_<purpose>_B`:
    /// what all ranks have sent to others since the row before, counted where it was copied, up to when a
    /// rank knows its part of the gradient's norm; what a step sends behind that, such as parameters after
    /// the update, is in the row after it. `plan_<purpose>_B`: what the plan says of one step of all ranks.
    /// `nvme_read_B`, `nvme_written_B`, `host_to_device_B`, `device_to_host_B` and their plan: the same of
    /// what all ranks have moved between tiers. `process_peak_B`: of the rank with most. What cannot be
    /// anything but 0 in this run is left out (StepFields). A step that reaches more than the peak raises it:
    /// then the event `peak` comes first, with `step` and `peak_flops_rank`.
    void step(const StepReport& report);
    /// The run goes on from a checkpoint of `step`; rows before this one are of earlier jobs.
    void resume(std::int64_t step);
    void validate(const ValidationReport& report);
    /// A step was a spike: its values, how many standard deviations they lie above those before, and whether
    /// its update was left out.
    void spike(const StepReport& report);
    /// The run has gone back to its checkpoint of `step` because of a spike in step `from`, and on with the
    /// sample of that global index.
    void roll_back(std::int64_t step, std::int64_t from, std::int64_t next_sample);
    /// A save begins. `async`: beside training.
    void checkpoint_begin(std::int64_t step, std::int64_t bytes, bool is_async);
    /// It is complete (`ok`), or was given up for `reason`. `stood_still_s`: what training stood still for on
    /// rank 0, copying or, without `async`, writing.
    void checkpoint_end(const CheckpointReport& report);
    /// A signal was seen: `level` as in StopSignals.
    void signal(std::string_view name, int level, std::int64_t step);
    /// The job before this one could not tell of its end.
    void lost_end(const LostEnd& end);
    /// A line for people, of the latest step.
    void warning(std::string_view text);
    /// The run will end before its last step, and why.
    void stop(std::string_view reason, std::int64_t step);
    void end(const RunEnd& facts);

    /// The peak of the utilisation as steps have left it, FLOP/s of a rank; 0 when none is known.
    double peak_flops_rank() const noexcept { return peak_flops_rank_; }

    const std::string& path() const noexcept { return path_; }
    /// Another descriptor of the file, for a flush beside training; none where nothing is written any more.
    FileHandle again() const;
    /// Goes on in a new file of the same path: the old one was removed.
    /// Errors: Error{resource}
    void reopen() { file_ = open_for_writing(path_, OpenMode::append); }
    /// The run ends with an error: the last line, whatever else is called. Any thread, at any time.
    /// Returns true if the line was written.
    bool break_down(std::string_view reason, int exit_code) noexcept;

  private:
    void begin(std::string_view event);
    /// An object with a field for each source: null where it has no target tokens, or its loss is not finite.
    void loss_by_source(std::span<const SourceLoss> losses);
    /// `sent_<purpose>_B` beside `plan_<purpose>_B`.
    void sent(const schedule::BytesByPurpose& counted,
              const schedule::BytesByPurpose& planned,
              const StepFields& kept);
    /// `nvme_read_B` and its like beside `plan_nvme_read_B`.
    void moved(const schedule::BytesByLink& counted,
               const schedule::BytesByLink& planned,
               const StepFields& kept);
    void write();

    std::string path_;
    Warn warn_;
    JsonLine line_;
    FileHandle file_;
    StepFields fields_;
    std::int64_t ranks_ = 1;
    double peak_flops_rank_ = 0;
    std::atomic<std::int64_t> step_{0}, tokens_{0};  ///< of the latest step
    std::atomic<bool> is_open_{true};                ///< more lines may follow
};

}  // namespace ziggurat::train
