/// Scores of multiple-choice rows: the log-probabilities that a model gives to their endings.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/progress.hpp"
#include "comm/context.hpp"
#include "data/choice/choice_rows.hpp"
#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Returns the log-probability of the ending of each row, in nats; NaN if it is not finite. Same on all
/// ranks. Returns nullopt if `stops` cancelled it.
///
/// Tokens that rows have in common at their beginning are read once, into a KV cache.
///
/// \param rows      the same on all ranks
/// \param progress  counts the tokens; nullptr: no progress is reported
/// \param stops     checked before each group of rows; true on all ranks to cancel. Empty: never
/// \pre spec.cached is passes_of_choices(rows, spec)
/// Numerics:   each row is an exact sum of its losses. On the host the losses have the same bits on any number
///             of ranks and without a cache, if a pass has more than HostWorkspaces::max_rows_in_place rows
/// Collective: over all ranks
std::optional<std::vector<double>> score_rows(const data::ChoiceRows& rows,
                                              const spec::RunSpec& spec,
                                              const comm::Context& world,
                                              const schedule::ModelLayout& model,
                                              Assembly& assembly,
                                              Progress* progress = nullptr,
                                              const std::function<bool()>& stops = {});

}  // namespace ziggurat::train
