/// Exact sums of losses and rewards on the host, without kernels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/exact_sum.hpp"
#include "kernels/element/preference_element.hpp"
#include "train/step/step_outcome.hpp"

namespace ziggurat::train {

/// Adds the losses to `into` exactly: the bits do not depend on the split into batches and ranks.
inline void add_losses(std::span<const float> losses, ExactSum& into) {
    for (const float loss : losses) {
        into.add(static_cast<double>(loss));
    }
}

/// Returns the sum whose limbs are the first words.
inline ExactSum sum_of_words(std::span<const std::int64_t> words) {
    ExactSum::Limbs limbs{};
    std::copy_n(words.begin(), limbs.size(), limbs.begin());
    return ExactSum{limbs};
}

inline double value_or_nan(const ExactSum& sum) {
    return sum.is_finite() ? sum.value() : std::nan("");
}

/// Rewards of pairs of answers, which ranks add as words.
class ExactRewards {
  public:
    /// Number of words that all ranks add.
    static constexpr int num_words = 2 * ExactSum::num_limbs + 2;

    void add(const kernels::PairResult& result) {
        chosen_.add(static_cast<double>(result.reward_chosen));
        rejected_.add(static_cast<double>(result.reward_rejected));
        num_right_ += result.reward_chosen > result.reward_rejected ? 1 : 0;
        ++num_pairs_;
    }

    /// \pre `words` has num_words elements
    void put(std::span<std::int64_t> words) const {
        std::ranges::copy(chosen_.limbs(), words.begin());
        std::ranges::copy(rejected_.limbs(), words.begin() + ExactSum::num_limbs);
        words[2 * ExactSum::num_limbs] = num_right_;
        words[2 * ExactSum::num_limbs + 1] = num_pairs_;
    }

    /// Returns the sums over all ranks from the sums of their words.
    static RewardSums of(std::span<const std::int64_t> words) {
        return {.chosen = value_or_nan(sum_of_words(words)),
                .rejected = value_or_nan(sum_of_words(words.subspan(ExactSum::num_limbs))),
                .num_right = words[2 * ExactSum::num_limbs],
                .num_pairs = words[2 * ExactSum::num_limbs + 1]};
    }

  private:
    ExactSum chosen_, rejected_;
    std::int64_t num_right_ = 0;
    std::int64_t num_pairs_ = 0;
};

}  // namespace ziggurat::train
