/// TensorBoard event file of a run: curves over steps.
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

/// Folder of event files in the run directory. TensorBoard shows each such folder as one run.
inline constexpr const char* events_folder = "tensorboard";

/// Writes those numbers of metrics.jsonl that form curves.
///
/// Each record is one write(2), so a killed run leaves whole records. RetriedOutput tries a failed write
/// again, and `print` prints messages about that. Training continues.
///
/// Collective: local; rank 0 has one
/// Numerics:   values are rounded to float
class EventFile {
  public:
    using Print = Metrics::Print;

    /// Creates a file in `<run_dir>/tensorboard`. Its name sorts after those of existing files.
    ///
    /// \param resumed_step  step after which the run resumes: readers drop later steps of earlier files
    /// Errors: Error{resource}
    EventFile(const std::string& run_dir,
              std::optional<std::int64_t> resumed_step,
              const RunFacts& facts,
              Print print);

    /// Writes the values of a step that can be nonzero in this run (StepFields).
    ///
    /// Tags: `loss/train`, `optim/lr`, `optim/grad_norm`, `optim/skipped`, `perf/tokens_per_s`,
    /// `perf/step_s`, `perf/mfu`, `stall/<lane>_pct` of the step's time, `memory/<tier>_gib`, `data/tokens`.
    void step(const StepReport& report);
    /// Writes `loss/validation`, and `loss/validation_average` if both weights were validated.
    void validate(const ValidationReport& report);
    /// Writes `norms/gradient/<unit>`, `norms/weights/<unit>` and `norms/update/<unit>`.
    void norms(std::int64_t step, std::span<const UnitNorms> units);
    /// Continues in a new file, after the folder was removed.
    ///
    /// Errors: Error{resource}
    void reopen();

  private:
    void write(const std::string& record);

    std::string folder_;
    StepFields fields_;
    Print print_;
    RetriedOutput file_;
    std::vector<std::string> stall_tags_;                              ///< by Stall
    std::vector<std::string> train_tags_ = {}, validation_tags_ = {};  ///< by source, from its first loss on
    std::vector<std::string> norm_tags_ = {};  ///< by norm and unit, from the first norms on
    std::vector<Scalar> values_;               ///< values of one step
};

}  // namespace ziggurat::train
