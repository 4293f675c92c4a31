#include "base/exact_sum.hpp"

#include <cmath>
#include <limits>

namespace ziggurat {

ExactSum::ExactSum(const Limbs& limbs) noexcept : limbs_{limbs} {
    carry();
}

double ExactSum::value() const noexcept {
    if (!is_finite()) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    auto magnitude = limbs();
    const bool is_negative = magnitude[num_payload_limbs - 1] < 0;
    if (is_negative) {
        for (std::size_t i = 0; i < num_payload_limbs; ++i) {
            magnitude[i] = -magnitude[i];
        }
        magnitude = ExactSum{magnitude}.limbs_;
    }
    std::size_t top = num_payload_limbs - 1;
    while (top > 0 && magnitude[top] == 0) {
        --top;
    }

    // The highest 64 bits. The last bit also records if any lower bit is set. So the single rounding in the
    // conversion to double is the rounding of the whole sum.
    auto head = static_cast<std::uint64_t>(magnitude[top]);
    std::size_t next = top;
    while (next > 0 && (head >> bits_per_limb) == 0) {
        head = head << bits_per_limb | static_cast<std::uint64_t>(magnitude[--next]);
    }
    int exponent = lowest_bit + bits_per_limb * static_cast<int>(next);
    bool has_rest = false;
    if (const int room = std::countl_zero(head); next > 0 && room > 0) {
        const auto below = static_cast<std::uint64_t>(magnitude[--next]);
        head = head << room | below >> (bits_per_limb - room);
        exponent -= room;
        has_rest = (below << (bits_per_limb + room)) != 0;
    }
    for (std::size_t i = 0; i < next; ++i) {
        has_rest = has_rest || magnitude[i] != 0;
    }
    head |= static_cast<std::uint64_t>(has_rest);
    const double value = std::ldexp(static_cast<double>(head), exponent);
    return is_negative ? -value : value;
}

}  // namespace ziggurat
