/// Model keys that may differ from the values with which a run's initial weights were trained.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::deck {

/// Returns the full key of an entry of model.init.accept_change: `model.rope_theta` for `rope_theta`.
std::string accepted_key(std::string_view entry);

/// Returns true if weights stay usable when `key` changes: positions and the norms' epsilon.
///
/// model.init.accept_change may contain these keys.
/// \param key  a full key, or a map of keys: `model.rope_scaling`
bool is_acceptable(std::string_view key);

/// Returns the entry of `entries` that accepts a change of `key`; empty if no entry does.
///
/// An entry accepts its own key, or all keys of its map.
std::string accepted_by(const std::vector<std::string>& entries, std::string_view key);

/// Returns `model.norm_epsilon, model.rope_theta ...`, for messages.
std::string acceptable_keys();

}  // namespace ziggurat::deck
