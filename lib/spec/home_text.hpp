/// Texts of tiers and of homes, as a deck writes them.
#pragma once

#include <array>
#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// By Tier.
inline constexpr std::array tier_names{"device", "host", "nvme"};

/// `host`, or `{device: 12.5%, host: rest}`: shares in steps of a millionth, the last of them as `rest`.
std::string write_home(const Home& home);

}  // namespace ziggurat::spec
