/// Matching of tile rules to tensors.
#pragma once

#include <string>
#include <string_view>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns true if a rule's pattern matches a tensor.
///
/// The pattern matches the whole name, or the name without layer number and ".weight": "mlp.up" matches all
/// layers. Biases follow their weights and have no rule.
bool names_tensor(std::string_view pattern, std::string_view tensor);

/// Returns true if tensors of that name can be split into tiles: weights of products, and token tables.
bool can_be_cut(std::string_view tensor);

/// Returns true if the token table cannot be split into tiles.
///
/// This is the case for a tied table in a pipeline: two stages complete its gradient, and that of tensors
/// next to it, as a whole.
bool is_table_whole(const RunSpec& run);

/// Returns the pattern of all weights of a run that can be split into tiles.
std::string everything_to_cut(const RunSpec& run);

}  // namespace ziggurat::spec
