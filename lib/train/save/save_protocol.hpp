/// Protocol with which ranks agree on the phases of one save during training.
#pragma once

#include "train/step/step_requests.hpp"

namespace ziggurat::train {

/// Phase of a save; the same on all ranks between two steps.
enum class SavePhase {
    idle,
    writing,    ///< every rank writes its part
    committing  ///< rank 0 completes the checkpoint
};

/// Phase transition of a save at the end of a step.
enum class SaveEvent {
    none,
    written,       ///< all parts are on disk: rank 0 may commit
    not_written,   ///< at least one part could not be written: the save has failed
    complete,      ///< the checkpoint is complete
    not_complete,  ///< rank 0 could not commit
};

/// State machine of a save, with one copy on each rank.
///
/// Its only inputs are the step_requests `save_ended` and `save_failed`. The reduction at the end of each
/// step carries them, so all copies change state at the end of the same step. Each rank that works in a phase
/// reports its result once. The phase ends when all of these ranks have reported.
///
/// Collective: local; the ranks call update() at the end of each step
class SaveProtocol {
  public:
    SaveProtocol(int ranks, int rank) : ranks_{ranks}, rank_{rank} {}

    SavePhase phase() const noexcept { return phase_; }
    /// Returns true if this rank works in the current phase and has not reported its result yet.
    bool must_report() const noexcept {
        return !has_reported_ &&
               (phase_ == SavePhase::writing || (phase_ == SavePhase::committing && rank_ == 0));
    }

    /// Starts the writing phase.
    ///
    /// \pre phase() is idle
    void begin();
    /// Reports the result of this rank's work in the current phase through `mine`.
    ///
    /// \pre must_report()
    void report_done(bool is_well, StepRequests& mine);
    /// Changes the phase if all ranks that work in it have reported.
    ///
    /// \param counts  sums over all ranks
    /// \param mine    this rank's report; cleared at the end of the phase
    SaveEvent update(const StepRequests& counts, StepRequests& mine);

  private:
    int ranks_;
    int rank_;
    SavePhase phase_ = SavePhase::idle;
    bool has_reported_ = false;
};

}  // namespace ziggurat::train
