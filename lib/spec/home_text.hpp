/// Texts of tiers and homes in deck syntax.
#pragma once

#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

inline constexpr ByTier<const char*> tier_names{"device", "host", "nvme"};

/// Returns `host`, or `{device: 12.5%, host: rest}`.
///
/// Shares are multiples of one millionth; the last one is `rest`.
std::string write_home(const Home& home);

}  // namespace ziggurat::spec
