/// Random patterns of trained tensors, for every kind of part that may train alone.
#pragma once

#include <string>
#include <vector>

#include "spec/sections/model_settings.hpp"
#include "tests/support/random/draw.hpp"

namespace ziggurat::test {

/// Draws patterns of one part of a model.
///
/// The part is a tensor of the head, the embedding, a layer, a tensor of a layer, all layers outside of a
/// range, a kind of tensor of all layers, or two tensors.
///
/// Parts of one matrix are trained together, and every pattern matches a tensor.
std::vector<std::string> draw_trained_part(Draw& draw, const spec::Model& model);

/// Returns the value of train.only for patterns: ["layers.1.*", "head.weight"].
std::string write_patterns(const std::vector<std::string>& patterns);

}  // namespace ziggurat::test
