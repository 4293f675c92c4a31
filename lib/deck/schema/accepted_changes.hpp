/// Keys of a model that may differ from those of the weights that a run starts with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::deck {

/// The full key of an entry of model.init.accept_change: `rope_theta` is `model.rope_theta`.
std::string accepted_key(std::string_view entry);

/// Returns true if a change of `key` leaves the weights usable, so that model.init.accept_change may name
/// it: positions and the norms' epsilon. \param key  a full key, or a map of keys: `model.rope_scaling`
bool is_acceptable(std::string_view key);

/// The entry of `entries` that accepts a change of `key`, by its own name or by that of its map; empty if
/// there is none.
std::string accepted_by(const std::vector<std::string>& entries, std::string_view key);

/// `model.norm_epsilon, model.rope_theta ...`, for messages.
std::string acceptable_keys();

}  // namespace ziggurat::deck
