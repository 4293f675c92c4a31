/// Changes of the model axes that take less memory on the same ranks and leave the training the same.
#pragma once

#include <vector>

#include "plan/changes.hpp"

namespace ziggurat::plan {

/// Tokens, or what tensor ranks keep alike, shared by the tensor ranks that there are.
std::vector<Change> shared_tokens(const spec::RunSpec& spec);

/// Layers spread otherwise over the stages that there are: as the planner does, and with a layer less on the
/// first or the last.
std::vector<Change> other_spreads(const spec::RunSpec& spec);

/// Twice, four times ... the tensor ranks of a node, then the stages, then both, for as many data ranks less.
/// None where the deck would be refused: what is cut over data ranks in ways of its own stays as it is.
std::vector<Change> more_model_ranks(const spec::RunSpec& spec);

}  // namespace ziggurat::plan
