/// Parameter groups: the elements of a unit with one weight decay.
#pragma once

#include <vector>

#include "layout/family.hpp"
#include "layout/flat_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// A range of a unit's flat range with one setting of the optimizer.
struct ParameterGroup {
    ElementRange range;
    float weight_decay = 0;
};

/// The groups of the trained region of `unit`, ascending, adjacent ones of the same setting joined; padding
/// belongs to whatever precedes it.
///
/// Tensors of one dimension (gains and biases) and those that match a pattern of optimizer.no_decay do not
/// decay. Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019; the exclusions are
/// GPT-2's practice
std::vector<ParameterGroup> parameter_groups(const spec::RunSpec& spec,
                                             const Unit& unit,
                                             const FlatLayout& flat);

}  // namespace ziggurat::layout
