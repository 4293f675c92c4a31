/// Scores of pairs of answers by the weights that an assembly holds.
#pragma once

#include <functional>
#include <vector>

#include "base/progress.hpp"
#include "train/preference/reference_scores.hpp"
#include "train/preference/scored_run.hpp"

namespace ziggurat::train {

/// Evaluates the windows and sets the log-probabilities of their pairs on all ranks.
///
/// Ends early if `stops` returns true on all ranks before a forward pass; then the others are not set.
///
/// Numerics:   the sums of one rank, so they have the same bits on all layouts in which losses have
/// Collective: over `run.world`
void score_pairs(const ScoredRun& run,
                 const std::vector<data::Window>& windows,
                 const std::function<bool()>& stops,
                 Progress& progress,
                 ReferenceScores& scores);

}  // namespace ziggurat::train
