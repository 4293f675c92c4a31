/// metrics.jsonl: one JSON object per step and event, for programs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/json_number.hpp"
#include "train/file_handle.hpp"
#include "train/step_report.hpp"

namespace ziggurat::train {

/// What does not change during a run, written once as `event: start`.
struct RunFacts {
    std::string name = {};
    std::string version = {};
    std::int64_t ranks = 1;
    std::int64_t threads = 1;
    std::int64_t steps = 0;
    std::int64_t parameters = 0;
    std::int64_t tokens_per_step = 0;
    double flops_per_token = 0;
    std::uint64_t seed = 0;
};

/// Appends to run.dir/metrics.jsonl; each line is one write(2), so a killed run has whole lines.
///
/// Collective: local; rank 0 has one. Numerics: numbers read back to the same bits; what is not finite is
/// null with a flag `<field>_nonfinite`. No allocation after the first lines. Errors: the constructor throws
/// Error{resource}; a failed write is told once through `warn` and ends the writing, never the training.
class Metrics {
  public:
    using Warn = std::function<void(std::string_view)>;

    Metrics(const std::string& path, Warn warn);

    void start(const RunFacts& facts);
    void step(const StepReport& report);
    void validate(const ValidationReport& report);
    /// A signal was seen: `level` as in StopSignals.
    void signal(std::string_view name, int level, std::int64_t step);
    /// The run will end before its last step, and why.
    void stop(std::string_view reason, std::int64_t step);
    /// `weights_hash`: of all master weights, so that two runs can be compared.
    void end(
        std::int64_t step, std::int64_t tokens, double wall_s, int exit_code, std::uint64_t weights_hash);

  private:
    void begin(std::string_view event);
    void write();

    std::string path_;
    Warn warn_;
    JsonLine line_;
    FileHandle file_;
};

}  // namespace ziggurat::train
