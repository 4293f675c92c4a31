/// A 16-bit float with the exponent range of float32.
#pragma once

#include <bit>
#include <cstdint>

#include "base/element.hpp"

namespace ziggurat::tensor {

/// Storage only: arithmetic is done in float.
///
/// Numerics: rounds to nearest even; NaN stays NaN, on GPUs as one fixed bit pattern; subnormals are kept.
struct bfloat16 {
    std::uint16_t bits = 0;

    bfloat16() = default;
    ZG_ELEMENT explicit bfloat16(float value) noexcept : bits{round(value)} {}
    ZG_ELEMENT explicit operator float() const noexcept {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }
    bool operator==(const bfloat16&) const = default;

  private:
    ZG_ELEMENT static std::uint16_t round(float value) noexcept {
#ifdef __CUDA_ARCH__
        std::uint16_t result;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(value));
        return result;
#else
        // The choice is made on 32 bits, before narrowing: g++ needs fewer vector instructions than after it.
        const auto u = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t rounded = u + 0x7fffu + ((u >> 16) & 1u);
        const std::uint32_t quiet = u | 0x400000u;
        return static_cast<std::uint16_t>((value != value ? quiet : rounded) >> 16);
#endif
    }
};
static_assert(sizeof(bfloat16) == 2);

/// Assigns `value` to `to`, rounded if T is narrower than float.
///
/// For loops under `omp simd`: g++ 12 does not vectorise a loop with a temporary of class type (`to =
/// T(value)`), but vectorises a call of this inlined function.
template <class T>
ZG_ELEMENT inline void store(T& to, float value) noexcept {
    to = T(value);
}

}  // namespace ziggurat::tensor
