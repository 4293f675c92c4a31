/// Arithmetic for error messages: divisors and nearest multiples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ziggurat::deck {

/// Returns the smallest `max` divisors of `number`, ascending. For 1 <= number <= 2^40.
std::vector<std::int64_t> divisors(std::int64_t number, std::size_t max = 24);

/// Returns a list such as `1, 2, 4, 8 or 16`.
std::string list_or(const std::vector<std::int64_t>& numbers);

/// Returns the positive multiples of `step` next to `number`, below and above.
std::vector<std::int64_t> nearest_multiples(std::int64_t number, std::int64_t step);

}  // namespace ziggurat::deck
