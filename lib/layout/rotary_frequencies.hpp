/// Rotation angles of rotary positions for pairs of channels.
#pragma once

#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Returns the radians per token of each channel pair of a head: rope_theta^(-i / pairs), with scaling.
///
/// model.rope_scaling selects the scaling.
///
/// Source: Su et al., "RoFormer", 2021, section 3.2.2; linear: Chen et al., "Extending Context Window of
///         Large Language Models via Position Interpolation", 2023; by parts: Llama 3.1's reference code
///         (apply_scaling), as in Grattafiori et al., 2024, section 3.4.2
///
/// \pre the family has rotary positions
std::vector<double> rotary_frequencies(const spec::Model& model);

}  // namespace ziggurat::layout
