/// Rotation angles of rotary positions for pairs of channels.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Returns the radians per token of each channel pair of a head: rope_theta^(-i / pairs), with scaling.
///
/// model.rope_scaling selects the scaling. Cosines and sines are also multiplied by its attention_factor.
///
/// Source: Su et al., "RoFormer", 2021, section 3.2.2; linear: Chen et al., "Extending Context Window of
///         Large Language Models via Position Interpolation", 2023; by parts: Llama 3.1's reference code
///         (apply_scaling), as in Grattafiori et al., 2024, section 3.4.2; yarn: Peng et al., "YaRN", 2023,
///         section 3, with the bounds of _compute_yarn_parameters of transformers 5; longrope: Ding et al.,
///         "LongRoPE", 2024, section 3
///
/// \param seq  tokens of a sequence; longrope divides by long_factors if they are more than original_max_seq
/// \pre the family has rotary positions; longrope: both lists have an entry for each pair
std::vector<double> rotary_frequencies(const spec::Model& model, std::int64_t seq);

/// Returns the model whose positions layers with a window have: with window_rope_theta, and not scaled.
///
/// \pre model.window_rope_theta > 0
spec::Model with_window_positions(spec::Model model);

/// Returns 0.1 share ln(factor) + 1, by which yarn multiplies cosines and sines; 1 for factors below 1.
///
/// Source: Peng et al., "YaRN", 2023, section 3.4
double attention_growth(double factor, double share = 1);

/// Returns the attention_factor that a published model has if its file does not give it.
///
/// yarn: attention_growth(); longrope: sqrt(1 + ln(factor) / ln(original_max_seq)), or 1 if the factor is 1;
/// 1 for other kinds.
double usual_attention_factor(const spec::RopeScaling& scaling);

}  // namespace ziggurat::layout
