/// Evaluation of validation losses: selects checkpoints to keep and decides on early stopping.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/validation_record.hpp"
#include "comm/context.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

class Reporter;

/// The validations of a run, including earlier jobs (checkpoint.keep.best, train.stop_when).
///
/// All ranks make the same decisions.
///
/// Source: early stopping with `patience` and `min_delta` as in Prechelt, "Early Stopping - But When?", 1998,
///         and in Keras' EarlyStopping
class ValidationTracker {
  public:
    /// \param data          validation_key(); rank 0's counts. Losses of other data do not count
    /// \param root          `<run.dir>/ckpt`, in which rank 0 keeps the record
    /// \param resumed_step  step of the run's own checkpoint that it resumes from; nullopt: the run is new
    /// Collective: over `world`
    /// Errors:     on all ranks: those of checkpoint::ValidationRecord::read
    ValidationTracker(const spec::RunSpec& spec,
                      const comm::Context& world,
                      std::uint64_t data,
                      const std::string& root,
                      std::optional<std::int64_t> resumed_step);

    /// Adds the result of a validation.
    ///
    /// Rank 0 writes the record if the run saves checkpoints. A failed write is only a warning.
    void add(std::int64_t step, double loss, const std::string& root, Reporter& reporter);

    /// Returns the steps whose checkpoints are kept: the best of each validated data.
    std::vector<std::int64_t> best() const { return record_.best(checkpoint_.keep_best); }

    /// Returns true if no earlier validation of the same data has a loss as low as that of the latest one.
    bool is_best() const;

    /// Returns true if the record has the validation after `step`.
    bool has(std::int64_t step) const {
        return !record_.entries().empty() && record_.entries().back().step == step;
    }

    /// Returns the reason why the losses so far end the run; empty if it continues.
    std::string stop_reason() const;

  private:
    std::string no_timeout_reason() const;
    /// Returns true if the losses of `entry` and of the latest validation are of the same data.
    bool is_of_latest_data(const checkpoint::ValidationRecord::Entry& entry) const;

    spec::Checkpoint checkpoint_;
    spec::StopWhen when_;
    std::uint64_t data_;
    bool writes_;  ///< this rank writes the record
    checkpoint::ValidationRecord record_;
};

}  // namespace ziggurat::train
