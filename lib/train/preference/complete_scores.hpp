/// Scores of the reference model that a run needs: those that an earlier job has kept, and new ones.
#pragma once

#include <functional>
#include <span>

#include "data/fingerprint.hpp"
#include "train/preference/reference_scores.hpp"
#include "train/preference/scored_run.hpp"

namespace ziggurat::train {

/// With a preference objective, computes the scores of all pairs that the run needs and lacks.
///
/// Scores are taken from the run directory, where new ones are kept too. If the loaded weights are not those
/// of the reference, these are loaded and then replaced by the state of the run. Returns early if `stops`
/// returns true on all ranks; then scores may be unknown, and the run must not do a step.
///
/// \param files  of all sources; rank 0's count
/// Collective: over `world`
/// Errors:     those of load_reference_weights() and load_again()
void complete_scores(const ScoredRun& run,
                     std::span<const data::FileFingerprint> files,
                     const std::function<bool()>& stops,
                     ReferenceScores& scores);

}  // namespace ziggurat::train
