/// Parameter groups: the elements of a unit with one weight decay.
#pragma once

#include <vector>

#include "layout/families/family.hpp"
#include "layout/flat_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// A part of a unit's flat range with one optimizer setting.
struct ParameterGroup {
    ElementRange range;
    float weight_decay = 0;
};

/// Returns the groups of the trained region of `unit`, ascending.
///
/// Adjacent groups with the same setting are joined. Padding belongs to the preceding group.
///
/// Tensors of one dimension (gains and biases) and those that match a pattern of optimizer.no_decay do not
/// decay. Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2019; GPT-2 uses the same
/// exclusions.
std::vector<ParameterGroup> parameter_groups(const spec::RunSpec& spec,
                                             const Unit& unit,
                                             const FlatLayout& flat);

}  // namespace ziggurat::layout
