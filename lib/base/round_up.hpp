/// Division and rounding of counts towards larger numbers.
#pragma once

#include <concepts>
#include <type_traits>

namespace ziggurat {

/// Returns the quotient, rounded up. \pre value >= 0, divisor > 0
template <std::integral T>
constexpr T divide_up(T value, std::type_identity_t<T> divisor) noexcept {
    return (value + divisor - 1) / divisor;
}

/// Returns the smallest multiple that is at least `value`. \pre value >= 0, multiple > 0
template <std::integral T>
constexpr T round_up(T value, std::type_identity_t<T> multiple) noexcept {
    return divide_up(value, multiple) * multiple;
}

}  // namespace ziggurat
