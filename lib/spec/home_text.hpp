/// Texts of tiers and homes in deck syntax.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

inline constexpr ByTier<const char*> tier_names{"device", "host", "nvme"};

/// Returns the tier of that name; nullopt if no tier has it.
std::optional<Tier> find_tier(std::string_view name);

/// Returns `host`, or `{device: 12.5%, host: rest}`.
///
/// Shares are multiples of one millionth; the last one is `rest`.
std::string write_home(const Home& home);

}  // namespace ziggurat::spec
