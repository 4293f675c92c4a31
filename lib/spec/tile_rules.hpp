/// Matching of tile rules to the tensors that they name.
#pragma once

#include <string>
#include <string_view>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Whether a rule's pattern fits a tensor: its whole name, or that without the number of the layer and
/// without ".weight", so that "mlp.up" is that of all layers. Biases go with their weights and have no rule.
bool names_tensor(std::string_view pattern, std::string_view tensor);

/// Whether tensors of that name can be cut: weights of products, and tables of look-ups by token.
bool can_be_cut(std::string_view tensor);

/// Whether no tile of the table can be: two stages of a pipeline complete the gradient of a tied one, and of
/// what lies beside it, as a whole.
bool is_table_whole(const RunSpec& run);

/// The pattern of all weights of a run that can be cut.
std::string everything_to_cut(const RunSpec& run);

}  // namespace ziggurat::spec
