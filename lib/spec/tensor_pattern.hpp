/// Patterns that name groups of parameter tensors, as in `train.only` and `optimizer.no_decay`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// True if the whole of `name` fits: `*` stands for any characters, also none and dots; `?` for one; every
/// other character for itself.
bool matches(std::string_view pattern, std::string_view name) noexcept;

/// True if one of the patterns fits.
bool matches_any(std::span<const std::string> patterns, std::string_view name) noexcept;

/// Those patterns that fit no name at all: most likely misspelt.
std::vector<std::string> unmatched_patterns(std::span<const std::string> patterns,
                                            std::span<const std::string> names);

/// Whether the tensor is trained; one that is not is frozen: it has no gradient and no optimizer state.
bool is_trained(const Train& train, std::string_view tensor);

}  // namespace ziggurat::spec
