/// Arithmetic of complaints: divisors and nearest multiples.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ziggurat::deck {

/// All divisors of `number`, ascending; at most `most`, the smallest ones. For 1 <= number <= 2^40.
std::vector<std::int64_t> divisors(std::int64_t number, std::size_t most = 24);

/// `1, 2, 4, 8 or 16`.
std::string list_or(const std::vector<std::int64_t>& numbers);

/// The multiples of `step` next to `number`, below and above, without zero.
std::vector<std::int64_t> nearest_multiples(std::int64_t number, std::int64_t step);

}  // namespace ziggurat::deck
