/// Scores of the reference model that a run needs: those that an earlier job has kept, and new ones.
#pragma once

#include <functional>
#include <span>

#include "base/stop_check.hpp"
#include "data/fingerprint.hpp"
#include "train/preference/reference_scores.hpp"
#include "train/preference/scored_run.hpp"

namespace ziggurat::train {

/// With a preference objective, computes the scores of all pairs that the run needs and lacks.
///
/// Scores are taken from the run directory, where new ones are kept as soon as they are computed, if their
/// key is that of the run's reference (reference_key.hpp). A note says why kept scores do not apply. If the
/// loaded weights are not those of the reference, these are loaded and then replaced by the state of the run.
/// Returns false if all ranks were stopped. Then the next start continues; the state may be that of the
/// reference, so the run must neither do a step nor save.
///
/// A run that resumes its own checkpoint with the reference `start` or `adapters_off` uses the scores of its
/// start, even if the files of model.init have changed since.
///
/// \param files  of all sources; rank 0's count
/// \param stops  checked before each forward pass; true on all ranks
/// \param stop   called for each block of weights that is read
/// Collective: over `world`
/// Errors:     those of load_reference_weights() and load_again(); Error{deck} if scores of the start are
///             missing and the files of model.init have changed
bool complete_scores(const ScoredRun& run,
                     std::span<const data::FileFingerprint> files,
                     const std::function<bool()>& stops,
                     const StopCheck& stop,
                     ReferenceScores& scores);

}  // namespace ziggurat::train
