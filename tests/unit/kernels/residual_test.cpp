#include "kernels/residual.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "base/error.hpp"
#include "kernels/element/dropout.hpp"
#include "kernels/norm/layer_norm.hpp"
#include "kernels/norm/rms_norm.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

constexpr std::int64_t sequence = 13;
const std::vector<std::int64_t> samples{5, std::int64_t{1} << 40, 1234567};
// On the heap, because a GPU cannot access constants of the program.
const auto third_step = std::make_unique<StepInputs>(StepInputs{.step = 3});
const Dropout a_tenth{.probability = 0.1f, .seed = 1234567890123, .purpose = 42, .inputs = third_step.get()};

/// Returns `dropout` for the sequences from sample number `first` of `samples` on.
Dropout for_samples(Dropout dropout, std::size_t first = 0) {
    dropout.samples = VectorAddress<const std::int64_t>{samples}.part(
        static_cast<std::int64_t>(first), std::ssize(samples) - static_cast<std::int64_t>(first));
    dropout.sequence = sequence;
    return dropout;
}

/// Returns the factors that `dropout` applies to `num_samples` sequences.
template <class T>
std::vector<T> factors(const Dropout& dropout, std::int64_t num_samples, std::int64_t width) {
    std::vector<T> ones(static_cast<std::size_t>(num_samples * sequence * width), T(1.0f));
    std::vector<T> result(ones.size());
    dropout_backward<T>(test_stream(), matrix(ones, num_samples * sequence, width), dropout,
                        matrix(result, num_samples * sequence, width));
    return result;
}

template <class T>
class Residual : public ::testing::Test {};
using Types = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(Residual, Types);

TYPED_TEST(Residual, AddsTheBranchAlsoInPlace) {
    for (const auto [rows, width] : odd_extents) {
        auto x = normal_values<TypeParam>(rows * width, 1);
        auto branch = normal_values<TypeParam>(rows * width, 2);
        std::vector<TypeParam> expected;
        for (std::size_t i = 0; i < x.size(); ++i) {
            expected.push_back(TypeParam(float(x[i]) + float(branch[i])));
        }

        residual_forward<TypeParam>(test_stream(), matrix(x, rows, width), matrix(branch, rows, width), {},
                                    matrix(x, rows, width));

        EXPECT_TRUE(same_bits(x, expected));
    }
}

TYPED_TEST(Residual, MultipliesTheBranchAndItsGradientByTheFactor) {
    constexpr float factor = 0.22f;
    for (const auto [rows, width] : odd_extents) {
        auto x = normal_values<TypeParam>(rows * width, 1);
        auto branch = normal_values<TypeParam>(rows * width, 2);
        std::vector<TypeParam> expected, expected_gradient, gradient(branch.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
            expected.push_back(TypeParam(std::fma(float(branch[i]), factor, float(x[i]))));
            expected_gradient.push_back(TypeParam(float(branch[i]) * factor));
        }

        residual_forward<TypeParam>(test_stream(), matrix(x, rows, width), matrix(branch, rows, width),
                                    {.factor = factor}, matrix(x, rows, width));
        dropout_backward<TypeParam>(test_stream(), matrix(branch, rows, width), {.factor = factor},
                                    matrix(gradient, rows, width));
        dropout_backward<TypeParam>(test_stream(), matrix(branch, rows, width), {.factor = factor},
                                    matrix(branch, rows, width));

        EXPECT_TRUE(same_bits(x, expected));
        EXPECT_TRUE(same_bits(gradient, expected_gradient));
        EXPECT_TRUE(same_bits(branch, expected_gradient)) << "in place";
    }
}

TYPED_TEST(Residual, MultipliesKeptValuesByTheFactorToo) {
    constexpr std::int64_t width = 37;
    auto halved = for_samples(a_tenth);
    halved.factor = 0.5f;
    const auto whole = factors<TypeParam>(for_samples(a_tenth), 3, width);
    const auto half = factors<TypeParam>(halved, 3, width);

    for (std::size_t i = 0; i < whole.size(); ++i) {
        ASSERT_EQ(float(half[i]), float(whole[i]) / 2) << i;
    }
}

TYPED_TEST(Residual, DropsWhatTheDocumentedWordsSay) {
    constexpr std::int64_t width = 37;
    const auto got = factors<TypeParam>(for_samples(a_tenth), 3, width);

    const Philox4x32::Key key{static_cast<std::uint32_t>(a_tenth.seed) ^ (43 * 0x9E3779B9u),
                              static_cast<std::uint32_t>(a_tenth.seed >> 32) ^ (3 * 0x85EBCA6Bu)};
    for (std::size_t i = 0; i < got.size(); ++i) {
        const auto channel = static_cast<std::uint32_t>(i % width);
        const auto position = static_cast<std::uint32_t>(i / width % sequence);
        const auto sample = static_cast<std::uint64_t>(samples[i / (width * sequence)]);
        const auto words = Philox4x32::generate({channel / 4, position, static_cast<std::uint32_t>(sample),
                                                 static_cast<std::uint32_t>(sample >> 32)},
                                                key);
        const bool is_dropped = words[channel % 4] < 0.1f * 0x1p32;
        ASSERT_EQ(float(got[i]), is_dropped ? 0.0f : float(TypeParam(1 / 0.9f))) << i;
    }
}

TYPED_TEST(Residual, ForwardDropsWhatBackwardDrops) {
    constexpr std::int64_t width = 529;  // more than two segments of a row
    const auto mask = factors<TypeParam>(for_samples(a_tenth), 2, width);
    std::vector<TypeParam> zeros(mask.size());
    std::vector<TypeParam> ones(mask.size(), TypeParam(1.0f));

    residual_forward<TypeParam>(test_stream(), matrix(zeros, 2 * sequence, width),
                                matrix(ones, 2 * sequence, width), for_samples(a_tenth),
                                matrix(ones, 2 * sequence, width));

    EXPECT_TRUE(same_bits(ones, mask));
}

TYPED_TEST(Residual, NormsWithAResidualAddTheSame) {
    auto scaled = for_samples(a_tenth);
    scaled.factor = 0.22f;
    for (const auto& dropout : {for_samples(a_tenth), scaled, Dropout{.factor = 0.22f}}) {
        for (const std::int64_t width : {261, 256}) {
            const auto rows = 3 * sequence;
            auto x = normal_values<TypeParam>(rows * width, 1);
            auto branch = normal_values<TypeParam>(rows * width, 2);
            std::vector<TypeParam> expected(x.size()), sum(x.size()), sum_rms(x.size()), y(x.size());
            std::vector<TypeParam> gain(static_cast<std::size_t>(width));
            std::vector<float> statistic(static_cast<std::size_t>(rows));

            residual_forward<TypeParam>(test_stream(), matrix(x, rows, width), matrix(branch, rows, width),
                                        dropout, matrix(expected, rows, width));
            residual_layer_norm_forward<TypeParam>(test_stream(), matrix(x, rows, width),
                                                   matrix(branch, rows, width), dropout, row(gain), row(gain),
                                                   1e-5f, matrix(sum, rows, width), matrix(y, rows, width),
                                                   row(statistic), row(statistic));
            residual_rms_norm_forward<TypeParam>(
                test_stream(), matrix(x, rows, width), matrix(branch, rows, width), dropout, row(gain), 0,
                1e-5f, matrix(sum_rms, rows, width), matrix(y, rows, width), row(statistic));

            EXPECT_TRUE(same_bits(sum, expected)) << width;
            EXPECT_TRUE(same_bits(sum_rms, expected)) << width;
        }
    }
}

TEST(Dropout, KeepsItsRate) {
    constexpr std::int64_t width = 4096;
    for (const float probability : {0.1f, 0.5f, 0.9f}) {
        auto dropout = for_samples(a_tenth);
        dropout.probability = probability;
        std::int64_t dropped = 0;
        for (const float factor : factors<float>(dropout, 3, width)) {
            dropped += factor == 0;
            ASSERT_TRUE(factor == 0 || factor == 1 / (1 - probability));
        }
        constexpr double count = 3.0 * sequence * width;
        EXPECT_NEAR(double(dropped) / count, probability, 5 * std::sqrt(0.25 / count));
    }
}

TEST(Dropout, DoesNotDependOnHowTheBatchIsCut) {
    const auto whole = factors<float>(for_samples(a_tenth), 3, 37);
    auto pieces = factors<float>(for_samples(a_tenth), 1, 37);
    const auto rest = factors<float>(for_samples(a_tenth, 1), 2, 37);
    pieces.insert(pieces.end(), rest.begin(), rest.end());

    EXPECT_TRUE(same_bits(pieces, whole));
}

TEST(Dropout, GoesByTheRowOfTheBatchWhereASliceBeginsInsideASequence) {
    constexpr std::int64_t width = 37, begin = 5, end = 2 * sequence + 3;
    const auto whole = factors<float>(for_samples(a_tenth), 3, width);
    auto dropout = for_samples(a_tenth);
    dropout.first_row = begin;
    std::vector<float> ones((end - begin) * width, 1.0f);
    std::vector<float> slice(ones.size());

    dropout_backward<float>(test_stream(), matrix(ones, end - begin, width), dropout,
                            matrix(slice, end - begin, width));

    EXPECT_TRUE(
        same_bits(slice, std::vector<float>(whole.begin() + begin * width, whole.begin() + end * width)));
}

TEST(Dropout, GoesByTheChannelOfTheModelIfOtherRanksHaveTheRestOfARow) {
    constexpr std::int64_t width = 37;
    const auto whole = factors<float>(for_samples(a_tenth), 3, width);
    for (const std::int64_t first : {3, 4, 5, 18}) {
        auto dropout = for_samples(a_tenth);
        dropout.first_channel = first;
        const auto part = width - first;
        const auto got = factors<float>(dropout, 3, part);

        for (std::int64_t i = 0; i < std::ssize(got); ++i) {
            const auto same = i / part * width + first + i % part;
            ASSERT_EQ(got[static_cast<std::size_t>(i)], whole[static_cast<std::size_t>(same)])
                << first << ", " << i;
        }
    }
}

TEST(Dropout, IsRefusedForRowsBeyondTheSamples) {
    auto dropout = for_samples(a_tenth);
    dropout.first_row = 2 * sequence + 1;
    std::vector<float> ones(sequence);
    EXPECT_THROW(
        dropout_backward<float>(test_stream(), matrix(ones, sequence, 1), dropout, matrix(ones, sequence, 1)),
        Error);
}

TEST(Dropout, IsTheSameInARecomputationAndOnOneThread) {
    const auto first = factors<float>(for_samples(a_tenth), 3, 129);
    EXPECT_TRUE(same_bits(factors<float>(for_samples(a_tenth), 3, 129), first));

    std::vector<float> alone(first.size(), 1.0f);
    on_one_thread([&](const device::Stream& stream) {
        dropout_backward<float>(stream, matrix(alone, 3 * sequence, 129), for_samples(a_tenth),
                                matrix(alone, 3 * sequence, 129));
    });
    EXPECT_TRUE(same_bits(alone, first));
}

TEST(Dropout, ChangesWithStepPurposeSeedSampleAndPosition) {
    const StepInputs fourth_step{.step = 4};
    const auto mask = factors<float>(for_samples(a_tenth), 1, 64);
    auto other = for_samples(a_tenth);
    other.inputs = &fourth_step;
    EXPECT_FALSE(same_bits(factors<float>(other, 1, 64), mask));
    other = for_samples(a_tenth);
    other.purpose = 43;
    EXPECT_FALSE(same_bits(factors<float>(other, 1, 64), mask));
    other = for_samples(a_tenth);
    other.seed += std::uint64_t{1} << 32;
    EXPECT_FALSE(same_bits(factors<float>(other, 1, 64), mask));
    EXPECT_FALSE(same_bits(factors<float>(for_samples(a_tenth, 1), 1, 64), mask));
    EXPECT_NE(std::vector(mask.begin(), mask.begin() + 64),
              std::vector(mask.begin() + 64, mask.begin() + 128));
}

// A pipeline without a flush runs forward of later steps.
TEST(Dropout, OfAMicroBatchAheadHasTheMaskOfItsStep) {
    const auto fifth_step = std::make_unique<StepInputs>(StepInputs{.step = 5});
    auto later = a_tenth;
    later.inputs = fifth_step.get();
    auto ahead = a_tenth;
    ahead.steps_ahead = 2;

    EXPECT_EQ(factors<float>(for_samples(ahead), 2, 40), factors<float>(for_samples(later), 2, 40));
    EXPECT_NE(factors<float>(for_samples(ahead), 2, 40), factors<float>(for_samples(a_tenth), 2, 40));
}

TEST(Dropout, OfProbabilityZeroIsACopyAndReadsNothingElse) {
    auto dy = normal_values<float>(37, 1);
    std::vector<float> dx(37);
    dropout_backward<float>(test_stream(), matrix(dy, 1, 37), {}, matrix(dx, 1, 37));

    EXPECT_TRUE(same_bits(dx, dy));
}

TEST(Dropout, IsRefusedWithAFactorThatIsNoNumber) {
    std::vector<float> x(37);
    EXPECT_THROW(
        dropout_backward<float>(test_stream(), matrix(x, 1, 37),
                                {.factor = std::numeric_limits<float>::infinity()}, matrix(x, 1, 37)),
        Error);
}

TEST(Dropout, RefusesWhatHasNoSamplesOrNoProbability) {
    std::vector<float> x(2 * sequence);
    auto dropout = a_tenth;
    EXPECT_THROW(dropout_backward<float>(test_stream(), matrix(x, 2 * sequence, 1), dropout,
                                         matrix(x, 2 * sequence, 1)),
                 Error);
    dropout = for_samples(a_tenth);
    dropout.probability = 1;
    EXPECT_THROW(
        dropout_backward<float>(test_stream(), matrix(x, sequence, 1), dropout, matrix(x, sequence, 1)),
        Error);
}

}  // namespace
}  // namespace ziggurat::kernels
