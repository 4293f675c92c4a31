/// Event file of a run, for TensorBoard: curves over steps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_handle.hpp"
#include "train/account/step_report.hpp"
#include "train/report/event_records.hpp"
#include "train/report/metrics.hpp"

namespace ziggurat::train {

/// Folder of event files in that of a run; TensorBoard shows each such folder as a run of its own.
inline constexpr const char* events_folder = "tensorboard";

/// Writes the numbers of metrics.jsonl that make curves, each record by one write(2): a killed run has whole
/// records. A failed write is told once through `warn` and ends the writing, never the training.
///
/// Collective: local; rank 0 has one
/// Numerics:   values are rounded to float
class EventFile {
  public:
    using Warn = std::function<void(std::string_view)>;

    /// Begins a file in `<run_dir>/tensorboard`, named behind those that are there.
    ///
    /// \param resumed_step  the run goes on after it: later steps of earlier files are dropped by readers
    /// Errors: Error{resource}
    EventFile(const std::string& run_dir,
              std::optional<std::int64_t> resumed_step,
              const RunFacts& facts,
              Warn warn);

    /// `loss/train`, `optim/lr`, `optim/grad_norm`, `optim/skipped`, `perf/tokens_per_s`, `perf/step_s`,
    /// `perf/mfu`, `stall/<lane>_pct` of the step's time, `memory/<tier>_gib`, `data/tokens`; those that can
    /// be anything but 0 in this run (StepFields).
    void step(const StepReport& report);
    /// `loss/validation`.
    void validate(const ValidationReport& report);
    /// Goes on in a new file: the folder was removed.
    /// Errors: Error{resource}
    void reopen();

  private:
    void write(const std::string& record);

    std::string folder_;
    std::string path_ = {};
    StepFields fields_;
    Warn warn_;
    FileHandle file_;
    std::vector<std::string> stall_tags_;                              ///< by Stall
    std::vector<std::string> train_tags_ = {}, validation_tags_ = {};  ///< by source, from its first loss on
    std::vector<Scalar> values_;                                       ///< of one step
};

}  // namespace ziggurat::train
