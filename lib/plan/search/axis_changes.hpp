/// Changes of the model axes that need less memory on the same ranks and keep the training equivalent.
#pragma once

#include <vector>

#include "plan/search/changes.hpp"

namespace ziggurat::plan {

/// Shares tokens, or replicated activations, among the existing tensor ranks.
std::vector<DeckEdit> shared_tokens(const spec::RunSpec& spec);

/// Returns other distributions of layers over the existing stages.
///
/// These are the planner's own, and those with one layer less on the first or the last stage.
std::vector<DeckEdit> other_spreads(const spec::RunSpec& spec);

/// Returns runs with more tensor ranks, stages, both, or context ranks, and fewer data ranks.
///
/// The factors are 2, 4 and so on. Tensor ranks stay within a node. A change is omitted if the deck's rules
/// reject it. More tensor ranks or stages are omitted if a span of shards is neither 1 nor all data ranks, or
/// if parameters have a second copy.
std::vector<DeckEdit> more_model_ranks(const spec::RunSpec& spec);

}  // namespace ziggurat::plan
