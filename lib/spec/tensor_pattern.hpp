/// Patterns that name groups of parameter tensors, as in `train.only` and `optimizer.no_decay`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns true if the pattern matches the whole of `name`.
///
/// `*` matches any characters, including none and dots; `?` matches one; all others match themselves.
bool matches(std::string_view pattern, std::string_view name) noexcept;

/// Returns true if one of the patterns matches.
bool matches_any(std::span<const std::string> patterns, std::string_view name) noexcept;

/// Returns the patterns that match no name; they are probably misspelled.
std::vector<std::string> unmatched_patterns(std::span<const std::string> patterns,
                                            std::span<const std::string> names);

/// Returns true if the tensor is trained. Frozen tensors have no gradient and no optimizer state.
bool is_trained(const Train& train, std::string_view tensor);

}  // namespace ziggurat::spec
