#include "kernels/preference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "spec/run_spec.hpp"
#include "tests/support/device/test_stream.hpp"

namespace ziggurat::kernels {
namespace {

using test::test_stream;

constexpr std::int64_t rows = 72;

struct Pairs {
    std::vector<float> losses;
    std::vector<std::uint8_t> mask;
    std::vector<AnswerRows> rows_of_pair{
        {2, 40, 50, 0, 0}, {50, 52, 70, 0, 0}, {-1, -1, -1, 0, 0}, {0, 1, 2, 0, 0}};
    std::vector<AnswerSums> references{{-31.5, -9.25}, {-2, -20.5}, {1, 2}, {3, 4}};

    Pairs() : losses(rows), mask(rows, 1) {
        for (std::int64_t row = 0; row < rows; ++row) {
            mask[row] = row % 7 == 3 ? 0 : 1;
            losses[row] = mask[row] != 0 ? 0.25f + 0.02f * static_cast<float>((row * 37) % 50) : 0;
        }
        for (auto& pair : rows_of_pair) {
            for (auto row = pair.chosen; row < pair.end; ++row) {
                (row < pair.rejected ? pair.chosen_tokens : pair.rejected_tokens) += mask[row];
            }
        }
    }
};

struct WeightsAndResults {
    std::vector<float> weights = std::vector<float>(rows, 9);
    std::vector<PairResult> results = std::vector<PairResult>(4, PairResult{9, 9, 9});
};

WeightsAndResults weigh(const Pairs& pairs, const PreferenceLoss& rule) {
    WeightsAndResults made;
    preference_weights(test_stream(), pairs.losses, {}, pairs.rows_of_pair, pairs.references, rule,
                       made.weights, made.results);
    return made;
}

/// Sums in float64 of the counted losses of an answer, and their number.
AnswerLoss sum_of(const Pairs& pairs, std::int64_t begin, std::int64_t end) {
    AnswerLoss answer;
    for (auto row = begin; row < end; ++row) {
        answer.sum += pairs.mask[row] != 0 ? static_cast<double>(pairs.losses[row]) : 0;
        answer.tokens += pairs.mask[row];
    }
    return answer;
}

/// Loss of a pair, straight from the papers' formulas.
double expected_loss(const Pairs& pairs, std::size_t p, const PreferenceLoss& rule) {
    const auto& of = pairs.rows_of_pair[p];
    const auto chosen = sum_of(pairs, of.chosen, of.rejected);
    const auto rejected = sum_of(pairs, of.rejected, of.end);
    const double beta = rule.beta;
    if (rule.is_ipo) {
        const double gain = (-chosen.sum - pairs.references[p].chosen) / chosen.tokens -
                            (-rejected.sum - pairs.references[p].rejected) / rejected.tokens;
        return std::pow(gain - 1 / (2 * beta), 2);
    }
    const double margin =
        beta * (-chosen.sum - pairs.references[p].chosen + rejected.sum + pairs.references[p].rejected);
    const auto log_sigmoid = [](double x) { return -std::log1p(std::exp(-x)); };
    const double smoothing = rule.label_smoothing;
    return -(1 - smoothing) * log_sigmoid(margin) - smoothing * log_sigmoid(-margin);
}

const std::vector<PreferenceLoss> rules{
    {.beta = 0.1f}, {.beta = 0.7f, .label_smoothing = 0.2f}, {.is_ipo = true, .beta = 0.3f}};

TEST(PreferenceWeights, LossesAndRewardsAreThoseOfTheFormulas) {
    const Pairs pairs;
    for (const auto& rule : rules) {
        const auto made = weigh(pairs, rule);
        for (std::size_t p = 0; p < 2; ++p) {
            EXPECT_NEAR(made.results[p].loss, expected_loss(pairs, p, rule), 1e-6) << p;
            const auto& of = pairs.rows_of_pair[p];
            const auto chosen = sum_of(pairs, of.chosen, of.rejected);
            const double share = rule.is_ipo ? 1.0 / chosen.tokens : 1.0;
            EXPECT_NEAR(made.results[p].reward_chosen,
                        rule.beta * (-chosen.sum - pairs.references[p].chosen) * share, 1e-6);
        }
    }
}

TEST(PreferenceWeights, AreDerivativesOfTheLossByEachTokensLoss) {
    for (const auto& rule : rules) {
        const auto made = weigh({}, rule);
        for (const std::int64_t row : {2, 39, 40, 49, 50, 51, 52, 69}) {
            constexpr float step = 1.0f / 64;
            Pairs lower, higher;
            lower.losses[row] -= step;
            higher.losses[row] += step;
            const std::size_t p = row < 50 ? 0 : 1;
            const double slope =
                (expected_loss(higher, p, rule) - expected_loss(lower, p, rule)) / (2 * step);
            EXPECT_NEAR(made.weights[row] * (lower.mask[row] != 0 ? 1 : 0), slope,
                        1e-3 * std::max(1.0, std::fabs(slope)))
                << row;
        }
    }
}

TEST(PreferenceWeights, RowsAndResultsWithoutAPairAreZero) {
    const auto made = weigh({}, rules.front());
    EXPECT_EQ(made.results[2].loss, 0);
    EXPECT_EQ(made.results[2].reward_chosen, 0);
    EXPECT_NE(made.results[3].loss, 0);  // the pair after the one that is missing
    EXPECT_EQ(made.weights[70], 0);
    EXPECT_EQ(made.weights[71], 0);
    EXPECT_NE(made.weights[2], 0);
    EXPECT_LT(made.weights[60], 0);  // of a rejected answer
}

// Three context ranks share two sequences of 36 tokens; the first pair has tokens of both.
TEST(PreferenceWeights, OfContextRanksAreThoseOfOneRank) {
    const Pairs pairs;
    for (const auto kind : {spec::ContextKind::ring, spec::ContextKind::ulysses}) {
        spec::Parallel parallel;
        parallel.context = 3;
        parallel.context_kind = kind;
        std::vector<float> gathered;
        for (int rank = 0; rank < 3; ++rank) {
            const auto own = layout::context_rows(parallel, rank, rows / 2);
            for (std::int64_t row = 0; row < 2 * own.size; ++row) {
                gathered.push_back(pairs.losses[row / own.size * rows / 2 + own.position(row % own.size)]);
            }
        }
        for (const auto& rule : rules) {
            const auto alone = weigh(pairs, rule);
            for (int rank = 0; rank < 3; ++rank) {
                std::vector<float> weights(rows / 3, 9);
                std::vector<PairResult> results(4);
                preference_weights(test_stream(), gathered,
                                   layout::gathered_rows(parallel, rank, 2, rows / 2), pairs.rows_of_pair,
                                   pairs.references, rule, weights, results);
                const auto own = layout::context_rows(parallel, rank, rows / 2);
                for (std::int64_t row = 0; row < rows / 3; ++row) {
                    const auto of_batch = row / own.size * rows / 2 + own.position(row % own.size);
                    EXPECT_EQ(weights[row], alone.weights[of_batch]) << "row " << of_batch;
                }
                for (std::size_t p = 0; p < results.size(); ++p) {
                    EXPECT_EQ(results[p].loss, alone.results[p].loss) << "pair " << p;
                    EXPECT_EQ(results[p].reward_rejected, alone.results[p].reward_rejected) << "pair " << p;
                }
            }
        }
    }
}

TEST(PreferenceWeights, LargeMarginsStayFinite) {
    Pairs pairs;
    pairs.references = {{-1e6, 1e6}, {1e6, -1e6}, {0, 0}, {0, 0}};
    const auto made = weigh(pairs, {.beta = 1});
    EXPECT_EQ(made.results[0].loss, 0);
    EXPECT_EQ(made.weights[2], 0);
    EXPECT_NEAR(made.results[1].loss, 2e6, 100);
    EXPECT_EQ(made.weights[50], 1);
    EXPECT_EQ(made.weights[52], -1);
}

}  // namespace
}  // namespace ziggurat::kernels
