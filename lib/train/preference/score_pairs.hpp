/// Scores of pairs of answers by the weights that an assembly holds.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/progress.hpp"
#include "train/preference/reference_scores.hpp"
#include "train/preference/scored_run.hpp"

namespace ziggurat::train {

/// Evaluates the windows and sets the log-probabilities of their pairs on all ranks.
///
/// Returns false, early, if `stops` returns true on all ranks before a forward pass; then the others are not
/// set.
///
/// \param has_scored  called on all ranks after each pass with the pairs whose scores are set
/// Numerics:   the sums of one rank, so they have the same bits on all layouts in which losses have
/// Collective: over `run.world`
bool score_pairs(const ScoredRun& run,
                 const std::vector<data::Window>& windows,
                 const std::function<bool()>& stops,
                 const std::function<void(std::span<const std::int64_t> pairs)>& has_scored,
                 Progress& progress,
                 ReferenceScores& scores);

}  // namespace ziggurat::train
