/// Rules for the fates of activations.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Returns the keyword of a deck: keep, host, nvme or recompute.
const char* keyword_of(ActivationFate fate);

/// Returns the fate of that keyword; nullopt if no fate has it.
std::optional<ActivationFate> find_fate(std::string_view keyword);

/// Returns the tier in which an activation waits for backward; nullopt if it is recomputed.
std::optional<Tier> tier_of(ActivationFate fate);

/// Returns the fate that the first matching rule gives to an activation; nullopt if no rule matches.
///
/// A pattern matches the whole name, or the name without the number of its layer: "mlp.up" matches that
/// value of all layers.
std::optional<ActivationFate> fate_of(const std::vector<FateRule>& rules, std::string_view activation);

/// Returns the name without the number of a layer: `mlp.up` for `layers.3.mlp.up`.
std::string name_in_layer(std::string_view name);

/// Returns true if a rule of the list has that fate.
bool has_fate(const std::vector<FateRule>& rules, ActivationFate fate);

/// Returns true if a rule of the list swaps activations to the host or to NVMe.
bool swaps_any(const std::vector<FateRule>& rules);

/// Returns the list in deck syntax; `none` if it is empty.
std::string write_fates(const std::vector<FateRule>& rules);

/// Returns a short text: `full`, `full / 2` (every 2 units) or `none and fates`.
std::string recomputation_text(const Recompute& recompute);

}  // namespace ziggurat::spec
