/// Counter-based random numbers.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/element.hpp"

namespace ziggurat {

/// Philox 4x32 with 10 rounds: a keyed bijection of 128-bit counters to random 32-bit words.
///
/// Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
/// section 4.3.
///
/// The generator has no state: a counter (a global coordinate) and a key (seed and purpose) determine the
/// number. So the numbers are the same for every layout.
struct Philox4x32 {
    using Counter = std::array<std::uint32_t, 4>;
    using Key = std::array<std::uint32_t, 2>;

    ZG_ELEMENT static constexpr Counter generate(Counter counter, Key key) noexcept {
        for (int round = 0; round < 10; ++round) {
            const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * counter[0];
            const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * counter[2];
            counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
                       static_cast<std::uint32_t>(product1),
                       static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
                       static_cast<std::uint32_t>(product0)};
            key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
        }
        return counter;
    }
};

/// Returns the upper 24 bits of `word` as a float in (0, 1].
///
/// It is never zero, so its logarithm is finite.
ZG_ELEMENT constexpr float uniform(std::uint32_t word) noexcept {
    return static_cast<float>((word >> 8) + 1) * 0x1p-24f;
}

/// Returns two independent values of the standard normal distribution from two random words.
///
/// Magnitudes are at most 5.8. For the host only: the bits of initial values depend on its elementary
/// functions.
///
/// Source: Box and Muller, "A note on the generation of random normal deviates", 1958.
inline std::array<float, 2> normal_pair(std::uint32_t word0, std::uint32_t word1) noexcept {
    const float radius = std::sqrt(-2.0f * std::log(uniform(word0)));
    const float angle = 2.0f * std::numbers::pi_v<float> * uniform(word1);
    return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace ziggurat
