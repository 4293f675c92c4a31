/// Scores of pairs of answers by the weights that an assembly holds.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/progress.hpp"
#include "comm/context.hpp"
#include "data/batch.hpp"
#include "data/batch_source.hpp"
#include "kernels/element/preference_element.hpp"
#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"
#include "train/preference/reference_scores.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Evaluates all samples of `pairs` and sets the log-probabilities of their pairs on all ranks.
///
/// Ends early if `stops` returns true on all ranks before a forward pass; then the others are not set.
///
/// \param model  layout of this rank
/// Numerics:   the sums of one rank, so they have the same bits on all layouts in which losses have
/// Collective: over `world`
void score_pairs(const spec::RunSpec& spec,
                 const comm::Context& world,
                 const schedule::ModelLayout& model,
                 Assembly& assembly,
                 const data::BatchSource& pairs,
                 const std::function<bool()>& stops,
                 Progress& progress,
                 ReferenceScores& scores);

}  // namespace ziggurat::train
