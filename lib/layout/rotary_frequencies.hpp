/// Angles by which rotary positions turn pairs of channels from one token to the next.
#pragma once

#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Radians per token of each pair of channels of a head: rope_theta^(-i / pairs), scaled as
/// model.rope_scaling says.
///
/// Source: Su et al., "RoFormer", 2021, section 3.2.2; linear: Chen et al., "Extending Context Window of
/// Large
///         Language Models via Position Interpolation", 2023; by parts: Llama 3.1's reference code
///         (apply_scaling), which Grattafiori et al., 2024, section 3.4.2, go with
///
/// \pre the family has rotary positions
std::vector<double> rotary_frequencies(const spec::Model& model);

}  // namespace ziggurat::layout
