/// Judge of validations: which checkpoints stay for their losses, and whether the losses end the run.
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

/// The validations of a run, those of earlier jobs too (checkpoint.keep.best, train.stop_when). All ranks
/// decide alike.
///
/// Source: early stopping as Prechelt, "Early Stopping - But When?", 1998, and Keras' EarlyStopping do it,
/// with
///         `patience` and `min_delta`
class ValidationJudge {
  public:
    /// \param root          `<run.dir>/ckpt`, in which rank 0 keeps the record
    /// \param resumed_step  of a run that continues from a checkpoint of its own; none: it starts
    /// Collective: over `world`
    /// Errors:     on all ranks alike, those of checkpoint::ValidationRecord::read
    ValidationJudge(const spec::RunSpec& spec,
                    const comm::Context& world,
                    const std::string& root,
                    std::optional<std::int64_t> resumed_step);

    /// A validation is over. Rank 0 writes the record, where the run saves; a failing write is a warning.
    void add(std::int64_t step, double loss, const std::string& root, Reporter& reporter);

    /// Steps whose checkpoints stay, lowest loss first.
    std::vector<std::int64_t> best() const { return record_.best(checkpoint_.keep_best); }

    /// Reason for which the losses so far end the run; empty: it continues.
    std::string why_stop() const;

  private:
    std::string why_no_patience() const;

    spec::Checkpoint checkpoint_;
    spec::StopWhen when_;
    bool writes_;  ///< this rank does
    checkpoint::ValidationRecord record_;
};

}  // namespace ziggurat::train
