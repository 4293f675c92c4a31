/// Cross entropy in scalars: what it keeps of a row of logits, the loss and the gradient of a logit.
#pragma once

#include <cmath>

#include "base/element.hpp"
#include "kernels/vector_math.hpp"

namespace ziggurat::kernels {

/// What the loss has to know of a row of logits, when some columns of them exist at a time.
struct LossStatistics {
    float top;        ///< the largest logit so far
    float sum;        ///< of exponentials, relative to it
    float at_target;  ///< the logit of the target
};

/// Statistics of no columns.
inline constexpr LossStatistics no_columns{-1e30f, 0, 0};

/// exp(x) as a power of two relative to `pivot`, so that one fused operation stands before it. The pivot need
/// not be the maximum to the last bit; it only has to be the same in all terms.
ZG_ELEMENT inline float relative_power(float x, float pivot) noexcept {
    return exp2_not_large(std::fma(x, log2_of_e, -pivot));
}

/// What the powers of a top are relative to.
ZG_ELEMENT inline float pivot_of(float top) noexcept {
    return top * log2_of_e;
}

/// Adds the sum of powers of some columns, relative to kept.top, which they have raised from `before`.
ZG_ELEMENT inline void add_powers(LossStatistics& kept, float before, float sum) noexcept {
    kept.sum = std::fma(kept.sum, exp2_not_large(pivot_of(before) - pivot_of(kept.top)), sum);
}

/// The top of both.
ZG_ELEMENT inline float merged_top(float top, float other) noexcept {
    return top < other ? other : top;
}

/// What other columns do to a sum: it becomes fma(sum, factor, addend). The sum itself has no part in it.
struct SumChange {
    float factor;
    float addend;
};

/// \param top  of the sum that is changed, before
ZG_ELEMENT inline SumChange change_by(float other_top, float other_sum, float top) noexcept {
    const float pivot = pivot_of(merged_top(top, other_top));
    return {exp2_not_large(pivot_of(top) - pivot), other_sum * exp2_not_large(pivot_of(other_top) - pivot)};
}

/// \param other_top  that made the change
ZG_ELEMENT inline void make(const SumChange& change, float other_top, LossStatistics& kept) noexcept {
    kept.sum = std::fma(kept.sum, change.factor, change.addend);
    kept.top = merged_top(kept.top, other_top);
}

/// Adds the statistics of other columns of the row. Those of no columns change nothing.
ZG_ELEMENT inline void merge(LossStatistics& kept, const LossStatistics& other) noexcept {
    make(change_by(other.top, other.sum, kept.top), other.top, kept);
    kept.at_target += other.at_target;
}

/// log2(sum(exp(x))): to base 2, here and in the gradient.
ZG_ELEMENT inline float log2_sum(const LossStatistics& kept) noexcept {
    return pivot_of(kept.top) + std::log2(kept.sum);
}

/// -log of the probability of a token with this logit. The product is rounded as the pivot was: certainty
/// costs 0.
ZG_ELEMENT inline float loss_of(float logit, float log2_of_sum) noexcept {
    constexpr float ln_2 = 0.693147181f;
    return (log2_of_sum - logit * log2_of_e) * ln_2;
}

/// The pivot of gradients, scale * softmax(x) as relative_power(x, pivot). \pre scale > 0
ZG_ELEMENT inline float gradient_pivot(float log2_of_sum, float scale) noexcept {
    return log2_of_sum - std::log2(scale);
}

/// The gradient of the target's own logit.
ZG_ELEMENT inline float target_gradient(float loss, float scale) noexcept {
    return std::expm1(-loss) * scale;
}

}  // namespace ziggurat::kernels
