/// Sums of floating-point numbers that do not depend on the order of their terms.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/element.hpp"

namespace ziggurat {

/// Sum of doubles as an integer of 256 bits.
///
/// Any order, any grouping and any number of ranks give the same bits.
///
/// Each term is rounded once, to a multiple of 2^-144, then added exactly. Terms below 2^100 in magnitude are
/// in range: squares of gradients from 1e-21 to 1e15 and every loss. A term that is larger or not finite is
/// counted instead of added, and the sum is then NaN. 2^43 terms cannot overflow.
///
/// The integer consists of limbs of 32 bits in int64, with carries not yet propagated. So the limbs of up to
/// 2^31 ranks can be added by an integer all-reduce.
class ExactSum {
  public:
    /// Eight limbs, lowest first, and the number of terms out of range.
    ///
    /// Each limb is worth 2^32 times the one before.
    static constexpr int num_limbs = 9;
    using Limbs = std::array<std::int64_t, num_limbs>;

    ExactSum() = default;

    /// Constructs the sum that `limbs` represent: the limbs of one sum, or the element-wise sum of several.
    explicit ExactSum(const Limbs& limbs) noexcept;

    ZG_ELEMENT void add(double term) noexcept {
        const auto bits = std::bit_cast<std::uint64_t>(term);
        const int exponent = static_cast<int>(bits >> 52) & 0x7ff;
        if (exponent >= first_exponent_out_of_range) {
            ++limbs_[num_limbs - 1];
            return;
        }
        if (++carries_pending_ == max_carries_pending) {
            carry();
        }
        std::uint64_t mantissa = bits & ((std::uint64_t{1} << 52) - 1);
        mantissa |= static_cast<std::uint64_t>(exponent != 0) << 52;
        int position = (exponent != 0 ? exponent : 1) - exponent_of_lowest_bit;
        if (position < 0) {
            mantissa = position < -53 ? 0 : (mantissa + (std::uint64_t{1} << (-position - 1))) >> -position;
            position = 0;
        }
        const int shift = position & 31;
        const std::uint64_t low = mantissa << shift;
        // Two shifts, because a shift by 64 is undefined.
        const std::uint64_t high = (mantissa >> 32) >> (32 - shift);
        const std::int64_t sign = static_cast<std::int64_t>(bits) >> 63;
        std::int64_t* at = &limbs_[position >> 5];
        at[0] += (static_cast<std::int64_t>(low & 0xffffffffu) ^ sign) - sign;
        at[1] += (static_cast<std::int64_t>(low >> 32) ^ sign) - sign;
        at[2] += (static_cast<std::int64_t>(high) ^ sign) - sign;
    }

    /// Adds the terms of `other`.
    ZG_ELEMENT void merge(const ExactSum& other) noexcept {
        const auto theirs = other.limbs();
        carry();
        for (std::size_t i = 0; i < theirs.size(); ++i) {
            limbs_[i] += theirs[i];
        }
        carry();
    }

    /// Returns the limbs with all carries propagated, for an all-reduce.
    ZG_ELEMENT Limbs limbs() const noexcept {
        ExactSum carried = *this;
        carried.carry();
        return carried.limbs_;
    }

    /// False if a term was out of range or NaN.
    ZG_ELEMENT bool is_finite() const noexcept { return limbs_[num_limbs - 1] == 0; }

    /// Returns the sum, correctly rounded (to nearest, ties to even); NaN unless is_finite().
    double value() const noexcept;

  private:
    static constexpr int num_payload_limbs = num_limbs - 1;
    static constexpr int bits_per_limb = 32;
    static constexpr int lowest_bit = -144;  // the integer 1 is 2^lowest_bit
    static constexpr int exponent_of_lowest_bit =
        lowest_bit + 1075;  // as a biased exponent of a double's last bit
    static constexpr int first_exponent_out_of_range = 1023 + 100;
    static constexpr std::int64_t max_carries_pending = std::int64_t{1} << 30;

    /// Propagates carries: every limb but the highest is then in [0, 2^32); the highest has the sign.
    ZG_ELEMENT void carry() noexcept {
        for (std::size_t i = 0; i + 1 < num_payload_limbs; ++i) {
            const std::int64_t moved = limbs_[i] >> bits_per_limb;
            limbs_[i] -= moved * (std::int64_t{1} << bits_per_limb);
            limbs_[i + 1] += moved;
        }
        carries_pending_ = 0;
    }

    Limbs limbs_{};
    std::int64_t carries_pending_ = 0;  // terms added since the last carry()
};

}  // namespace ziggurat
