/// The 16-bit float with the exponent of a float32.
#pragma once

#include <bit>
#include <cstdint>

namespace ziggurat::tensor {

/// Storage only: arithmetic is done in float.
///
/// Numerics: rounds to nearest even; NaN stays NaN; subnormals are kept.
struct bfloat16 {
    std::uint16_t bits = 0;

    bfloat16() = default;
    [[gnu::always_inline]] explicit bfloat16(float value) noexcept : bits{round(value)} {}
    [[gnu::always_inline]] explicit operator float() const noexcept {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }
    bool operator==(const bfloat16&) const = default;

  private:
    [[gnu::always_inline]] static std::uint16_t round(float value) noexcept {
        const auto u = std::bit_cast<std::uint32_t>(value);
        const bool is_nan = (u & 0x7fffffffu) > 0x7f800000u;
        const std::uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
        return static_cast<std::uint16_t>(is_nan ? ((u >> 16) | 0x40u) : rounded);
    }
};
static_assert(sizeof(bfloat16) == 2);

}  // namespace ziggurat::tensor
