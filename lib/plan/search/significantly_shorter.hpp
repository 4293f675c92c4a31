/// Smallest difference of planned times that decides a choice.
#pragma once

namespace ziggurat::plan {

/// A planned time below this share of another one is significantly shorter.
inline constexpr double significantly_shorter = 0.99;

}  // namespace ziggurat::plan
