/// Loss of a pair of answers, and its derivative by the losses of their tokens.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/element.hpp"
#include "layout/context/context_rows.hpp"

namespace ziggurat::kernels {

/// Loss of pairs of answers.
///
/// Source: Rafailov et al., "Direct Preference Optimization", 2023, equation 7; with label smoothing Mitchell,
///         "A note on DPO with noisy preferences", 2023; IPO: Azar et al., "A General Theoretical Paradigm to
///         Understand Learning from Human Preferences", 2023, equation 17
struct PreferenceLoss {
    bool is_ipo = false;  ///< squared distance of the mean margin of a token from 1 / (2 beta)
    float beta = 0.1f;
    float label_smoothing = 0;  ///< not for IPO
};

/// Rows of the answers of a pair, and their counted tokens. The rejected answer follows the chosen one
/// directly.
struct AnswerRows {
    std::int32_t chosen;  ///< first row; negative: no pair
    std::int32_t rejected;
    std::int32_t end;
    std::int32_t chosen_tokens;
    std::int32_t rejected_tokens;
};

/// Log-probabilities of the counted tokens of both answers of a pair.
struct AnswerSums {
    double chosen;
    double rejected;
};

/// Counted tokens of an answer, and the sum of their losses.
struct AnswerLoss {
    double sum = 0;
    std::int32_t tokens = 0;
};

struct PairResult {
    float loss;
    float reward_chosen;
    float reward_rejected;
};

/// Result of a pair, and the factors of the gradients of its tokens' losses.
struct PairGradient {
    PairResult result;
    float chosen_weight;
    float rejected_weight;
};

/// Returns the sum of the losses of an answer with the rows [begin, end), on the host.
///
/// The order of the sum is that of preference_weights.
///
/// \param losses  gathered from all context ranks; 0 for tokens that do not count
inline double loss_of_answer(const float* losses,
                             const layout::GatheredRows& rows,
                             std::int32_t begin,
                             std::int32_t end) noexcept {
    constexpr int num_lanes = 32;
    double lanes[num_lanes] = {};
    for (std::int32_t row = begin; row < end; ++row) {
        lanes[(row - begin) % num_lanes] += static_cast<double>(losses[rows.index(row)]);
    }
    for (int half = num_lanes / 2; half > 0; half /= 2) {
        for (int lane = 0; lane < half; ++lane) {
            lanes[lane] += lanes[lane + half];
        }
    }
    return lanes[0];
}

/// Returns log(1 + exp(x)) without overflow.
ZG_ELEMENT inline double softplus(double x) noexcept {
    return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

/// Returns 1 / (1 + exp(-x)).
ZG_ELEMENT inline double sigmoid(double x) noexcept {
    return 1 / (1 + std::exp(-x));
}

/// Returns the loss of a pair, its rewards, and the derivatives by a token's loss of each answer.
///
/// An answer without counted tokens is not divided by their number.
ZG_ELEMENT inline PairGradient preference_of(const PreferenceLoss& rule,
                                             const AnswerLoss& chosen,
                                             const AnswerLoss& rejected,
                                             const AnswerSums& reference) noexcept {
    const double beta = rule.beta;
    const double chosen_share = rule.is_ipo && chosen.tokens > 0 ? 1.0 / chosen.tokens : 1.0;
    const double rejected_share = rule.is_ipo && rejected.tokens > 0 ? 1.0 / rejected.tokens : 1.0;
    const double chosen_gain = (-chosen.sum - reference.chosen) * chosen_share;
    const double rejected_gain = (-rejected.sum - reference.rejected) * rejected_share;
    const double gain = chosen_gain - rejected_gain;
    const double smoothing = rule.label_smoothing;
    double loss = 0, slope = 0;  // of the loss, and its derivative by `gain`
    if (rule.is_ipo) {
        const double distance = gain - 1 / (2 * beta);
        loss = distance * distance;
        slope = 2 * distance;
    } else {
        const double margin = beta * gain;
        loss = (1 - smoothing) * softplus(-margin) + smoothing * softplus(margin);
        slope = beta * (smoothing * sigmoid(margin) - (1 - smoothing) * sigmoid(-margin));
    }
    return {{static_cast<float>(loss), static_cast<float>(beta * chosen_gain),
             static_cast<float>(beta * rejected_gain)},
            static_cast<float>(-slope * chosen_share),
            static_cast<float>(slope * rejected_share)};
}

}  // namespace ziggurat::kernels
