/// Protocol by which ranks agree on the phases of one save, beside training.
#pragma once

#include "train/step/step_requests.hpp"

namespace ziggurat::train {

/// Phase of a save; the same on all ranks between two steps.
enum class SavePhase {
    idle,
    writing,    ///< every rank writes its part
    committing  ///< rank 0 makes it complete
};

/// News of a save at the end of a step.
enum class SaveNews {
    none,
    written,       ///< all parts are on disk: rank 0 may commit
    not_written,   ///< some part is not: the save has failed
    complete,      ///< the checkpoint is one
    not_complete,  ///< rank 0 could not commit
};

/// A small state machine, one copy on each rank, which moves by the step_requests `save_ended` and
/// `save_failed` alone: they come with the step's own small sum, so all copies move at the end of the same
/// step. Each rank that works in a phase says once how it went; when all have, the phase is over.
///
/// Collective: local; the ranks call learn() at the end of each step
class SaveProtocol {
  public:
    SaveProtocol(int ranks, int rank) : ranks_{ranks}, rank_{rank} {}

    SavePhase phase() const noexcept { return phase_; }
    /// This rank has work in the phase and has not said yet how it went.
    bool owes_word() const noexcept {
        return !has_told_ &&
               (phase_ == SavePhase::writing || (phase_ == SavePhase::committing && rank_ == 0));
    }

    /// \pre phase() is idle
    void begin();
    /// This rank's work of the phase is done; `mine` takes the word along.
    ///
    /// \pre owes_word()
    void tell(bool is_well, StepRequests& mine);
    /// \param counts  over all ranks
    /// \param mine    loses what was told once the phase is over
    SaveNews learn(const StepRequests& counts, StepRequests& mine);

  private:
    int ranks_;
    int rank_;
    SavePhase phase_ = SavePhase::idle;
    bool has_told_ = false;
};

}  // namespace ziggurat::train
