/// Cross entropy of single elements: statistics of logits, the loss, and the gradient of a logit.
#pragma once

#include <cmath>

#include "base/element.hpp"
#include "kernels/element/softcap.hpp"
#include "kernels/element/vector_math.hpp"

namespace ziggurat::kernels {

/// Constant factor of logits, and their soft cap: z = factor x, then cap tanh(z / cap).
struct LogitTransform {
    float factor = 1;
    float cap = 0;  ///< 0: none
};

/// Returns the logit with its factor and its cap.
ZG_ELEMENT inline float transformed(const LogitTransform& transform, float x) noexcept {
    const auto [factor, cap] = transform;
    return cap > 0 ? cap * hyperbolic_tangent(factor / cap * x) : factor * x;
}

/// SoftcapReader for logits. Without `capped` it does not look for a cap.
template <bool capped>
class LogitReader {
  public:
    ZG_ELEMENT explicit constexpr LogitReader(const LogitTransform& transform) noexcept
        : reader_{SoftcapReader::of(transform.factor, capped ? transform.cap : 0.0f)} {}

    ZG_ELEMENT constexpr float slope() const noexcept { return reader_.slope; }
    ZG_ELEMENT float read(float x) const noexcept {
        return capped ? hyperbolic_tangent(reader_.inner * x) : x;
    }
    ZG_ELEMENT float exponent(float x) const noexcept { return read(x) * reader_.slope; }
    /// Returns the gradient of a logit from that of its transform. \param value  result of read()
    ZG_ELEMENT float through_cap(float gradient, float value) const noexcept {
        return capped ? gradient * std::fma(-value, value, 1.0f) : gradient;
    }

  private:
    SoftcapReader reader_;
};

/// Calls body(reader) with the LogitReader of `transform`.
template <class Body>
void with_reader(const LogitTransform& transform, const Body& body) {
    if (transform.cap > 0) {
        body(LogitReader<true>{transform});
    } else {
        body(LogitReader<false>{transform});
    }
}

/// Statistics of a row of logits from which its loss follows, for logits computed in tiles of columns.
///
/// A logit counts as the exponent of 2 that exp of its transform has: LogitReader::exponent.
struct LossStatistics {
    float top;        ///< the largest exponent so far
    float sum;        ///< sum of exponentials, relative to the largest
    float at_target;  ///< the exponent of the target
};

/// Maximum of no logits: below all logits.
inline constexpr float lowest_logit = -1e30f;

/// Statistics of an empty set of columns.
inline constexpr LossStatistics no_columns{lowest_logit * log2_of_e, 0, 0};

/// Returns the exponential of a logit relative to 2^pivot, with one fused operation before the power.
///
/// The pivot does not have to be the exact maximum; it only has to be the same in all terms.
ZG_ELEMENT inline float relative_power(float x, float slope, float pivot) noexcept {
    return exp2_not_large(std::fma(x, slope, -pivot));
}

/// Adds the sum of powers of some columns, relative to kept.top, which they have raised from `before`.
ZG_ELEMENT inline void add_powers(LossStatistics& kept, float before, float sum) noexcept {
    kept.sum = std::fma(kept.sum, exp2_not_large(before - kept.top), sum);
}

/// Returns the larger of two maxima.
ZG_ELEMENT inline float merged_top(float top, float other) noexcept {
    return top < other ? other : top;
}

/// Effect of other columns on a sum, which becomes fma(sum, factor, addend).
///
/// It does not depend on the sum's value.
struct SumChange {
    float factor;
    float addend;
};

/// \param top  maximum of the changed sum, before the change
ZG_ELEMENT inline SumChange change_by(float other_top, float other_sum, float top) noexcept {
    const float pivot = merged_top(top, other_top);
    return {exp2_not_large(top - pivot), other_sum * exp2_not_large(other_top - pivot)};
}

/// \param other_top  maximum of the columns that caused the change
ZG_ELEMENT inline void make(const SumChange& change, float other_top, LossStatistics& kept) noexcept {
    kept.sum = std::fma(kept.sum, change.factor, change.addend);
    kept.top = merged_top(kept.top, other_top);
}

/// Adds the statistics of other columns of the row.
///
/// Statistics of an empty set of columns change nothing.
ZG_ELEMENT inline void merge(LossStatistics& kept, const LossStatistics& other) noexcept {
    make(change_by(other.top, other.sum, kept.top), other.top, kept);
    kept.at_target += other.at_target;
}

/// Returns log2(sum(exp(factor * x))). Gradients use base 2 too.
ZG_ELEMENT inline float log2_sum(const LossStatistics& kept) noexcept {
    return kept.top + std::log2(kept.sum);
}

/// Returns -log of the probability of a token whose logit has this exponent.
///
/// The exponent is rounded as the maximum was, so a probability of 1 gives exactly 0.
ZG_ELEMENT inline float loss_of(float exponent, float log2_of_sum) noexcept {
    constexpr float ln_2 = 0.693147181f;
    return (log2_of_sum - exponent) * ln_2;
}

/// Returns the pivot with which relative_power is scale * softmax. \pre scale > 0
ZG_ELEMENT inline float gradient_pivot(float log2_of_sum, float scale) noexcept {
    return log2_of_sum - std::log2(scale);
}

/// Returns the gradient of the target's logit.
ZG_ELEMENT inline float target_gradient(float loss, float scale) noexcept {
    return std::expm1(-loss) * scale;
}

}  // namespace ziggurat::kernels
