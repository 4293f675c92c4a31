#include "kernels/cross_entropy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "tests/reference/cross_entropy.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

template <class T>
struct Data {
    Data(std::int64_t rows_, std::int64_t vocab_, std::int64_t padded_)
        : rows{rows_}, vocab{vocab_}, padded{padded_}, logits{normal_values<T>(rows * padded, 1, 4)} {
        for (std::int32_t r = 0; r < rows; ++r) {
            targets.push_back(static_cast<std::int32_t>((r * 31 + 5) % vocab));
        }
    }

    std::int64_t rows, vocab, padded;
    std::vector<T> logits;
    std::vector<std::int32_t> targets;
    std::vector<std::uint8_t> mask;
    std::vector<float> losses = std::vector<float>(static_cast<std::size_t>(rows), -1.0f);
    StepInputs inputs{.loss_scale = 1.0f / 96};
    LogitTransform transform = {};

    /// Returns the logits of a row without padding, with their factor and their cap.
    std::vector<double> valid_logits(std::int64_t r) const {
        auto values =
            doubles(std::vector<T>(logits.begin() + r * padded, logits.begin() + r * padded + vocab));
        for (double& value : values) {
            value *= double(transform.factor);
            value = transform.cap > 0 ? transform.cap * std::tanh(value / transform.cap) : value;
        }
        return values;
    }
    void run(const device::Stream& stream = test_stream()) {
        cross_entropy<T>(stream, matrix(logits, rows, padded), vocab, row(targets), row(mask), &inputs,
                         row(losses), transform);
    }
};

struct Sizes {
    std::int64_t rows, vocab, padded;
    LogitTransform transform = {};
};
constexpr Sizes sizes[] = {{1, 1, 1},
                           {3, 1, 16},
                           {5, 37, 37},
                           {5, 37, 64},
                           {33, 1030, 1040},
                           {2, 5003, 5056},
                           {5, 37, 64, {0.5f}},
                           {4, 9, 9, {2.0f}},
                           {33, 1030, 1040, {0.11f}},
                           {3, 5001, 5001, {1.7f}},
                           {2, 5003, 5056, {0.0625f}},
                           {5, 37, 64, {1, 5}},
                           {33, 1030, 1040, {0.7f, 3}},
                           {2, 5003, 5056, {1, 30}},
                           {270, 17000, 17008}};  // more rows than blocks of a GPU, and several
                                                  // chunks for each warp

template <class T>
class CrossEntropy : public ::testing::Test {};
using Types = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(CrossEntropy, Types);

TYPED_TEST(CrossEntropy, LossAndGradientAreTheReference) {
    for (const auto& [rows, vocab, padded, transform] : sizes) {
        Data<TypeParam> data{rows, vocab, padded};
        data.transform = transform;
        std::vector<double> losses;
        std::vector<double> gradient;
        for (std::int64_t r = 0; r < rows; ++r) {
            const auto target = static_cast<std::size_t>(data.targets[static_cast<std::size_t>(r)]);
            losses.push_back(reference::cross_entropy(data.valid_logits(r), target));
            const auto logits_of_row = data.valid_logits(r);
            const auto of_row = reference::cross_entropy_backward(logits_of_row, target);
            for (std::size_t c = 0; c < of_row.size(); ++c) {
                const double tangent = transform.cap > 0 ? logits_of_row[c] / double(transform.cap) : 0;
                gradient.push_back(of_row[c] * double(transform.factor) * (1 - tangent * tangent) / 96);
            }
            gradient.resize(gradient.size() + static_cast<std::size_t>(padded - vocab));
        }

        data.run();

        for (std::size_t r = 0; r < losses.size(); ++r) {
            EXPECT_NEAR(data.losses[r], losses[r], 2e-6 * (1 + losses[r]));
        }
        // The target is certain: the gradient is 0, except for rounding of a GPU's power function.
        if (vocab == 1 && tests_on_cuda()) {
            const auto rest = doubles(data.logits);
            EXPECT_LT(dot(rest, rest), 1e-14);
        } else {
            EXPECT_LT(relative_error(data.logits, gradient), bound<TypeParam>)
                << rows << 'x' << vocab << " times " << transform.factor << " cap " << transform.cap;
        }
        for (std::size_t i = 0; i < data.logits.size(); ++i) {
            const bool is_padding = static_cast<std::int64_t>(i) % padded >= vocab;
            ASSERT_TRUE(!is_padding || float(data.logits[i]) == 0);
        }
    }
}

TYPED_TEST(CrossEntropy, IgnoresWhatThePaddingHolds) {
    Data<TypeParam> clean{5, 37, 64};
    Data<TypeParam> dirty{5, 37, 64};
    for (std::size_t i = 0; i < dirty.logits.size(); ++i) {
        if (i % 64 >= 37) {
            dirty.logits[i] = TypeParam(std::nanf(""));
        }
    }
    clean.run();
    dirty.run();

    EXPECT_TRUE(same_bits(dirty.logits, clean.logits));
    EXPECT_TRUE(same_bits(dirty.losses, clean.losses));
}

TYPED_TEST(CrossEntropy, MaskedRowsCountForNothingAndTheirTargetsAreNotRead) {
    Data<TypeParam> all{5, 37, 64};
    Data<TypeParam> some{5, 37, 64};
    some.mask = {1, 0, 1, 0, 255};
    some.targets[1] = -100;
    all.run();
    some.run();

    for (std::size_t r = 0; r < 5; ++r) {
        const bool is_counted = some.mask[r] != 0;
        EXPECT_EQ(some.losses[r], is_counted ? all.losses[r] : 0.0f);
        for (std::size_t c = 0; c < 64; ++c) {
            EXPECT_EQ(float(some.logits[r * 64 + c]), is_counted ? float(all.logits[r * 64 + c]) : 0.0f);
        }
    }
}

TYPED_TEST(CrossEntropy, LossOnlyGivesTheSameLossesAndLeavesTheLogits) {
    for (const LogitTransform& transform : {LogitTransform{}, {0.125f}, {1.7f}, {1, 30}, {0.5f, 2}}) {
        Data<TypeParam> trained{33, 1030, 1040};
        trained.transform = transform;
        Data<TypeParam> evaluated{33, 1030, 1040};
        evaluated.mask.assign(33, 1);
        evaluated.mask[7] = 0;
        const auto before = evaluated.logits;

        trained.run();
        cross_entropy_loss_only<TypeParam>(test_stream(), matrix(evaluated.logits, 33, 1040), 1030,
                                           row(evaluated.targets), row(evaluated.mask), row(evaluated.losses),
                                           transform);

        trained.losses[7] = 0;
        EXPECT_TRUE(same_bits(evaluated.losses, trained.losses)) << transform.factor;
        EXPECT_TRUE(same_bits(evaluated.logits, before)) << transform.factor;
    }
}

TYPED_TEST(CrossEntropy, HasTheSameBitsOnOneThread) {
    Data<TypeParam> two{33, 1030, 1040};
    Data<TypeParam> one{33, 1030, 1040};
    two.run();
    on_one_thread([&](const device::Stream& stream) { one.run(stream); });

    EXPECT_TRUE(same_bits(one.logits, two.logits));
    EXPECT_TRUE(same_bits(one.losses, two.losses));
}

TYPED_TEST(CrossEntropy, ByTilesOfTheVocabularyHasTheBitsOfTheWhole) {
    for (const auto& [rows, vocab, padded, transform] :
         {Sizes{5, 2500, 2512}, Sizes{3, 2040, 2080}, Sizes{4, 7, 16}, Sizes{2, 70000, 70016},
          Sizes{5, 2500, 2512, {0.0625f}}, Sizes{3, 2040, 2080, {1.7f}}, Sizes{5, 2500, 2512, {1, 5}}}) {
        Data<TypeParam> whole{rows, vocab, padded};
        whole.transform = transform;
        whole.mask.assign(static_cast<std::size_t>(rows), 1);
        whole.mask[1] = 0;
        auto tiled = whole;
        whole.run();

        std::vector<LossStatistics> statistics(static_cast<std::size_t>(rows));
        const auto each_tile = [&](const auto& visit) {
            for (std::int64_t first = 0; first < padded; first += 1024) {
                const auto width = std::min<std::int64_t>(1024, padded - first);
                std::vector<TypeParam> columns;
                for (std::int64_t r = 0; r < rows; ++r) {
                    const auto from = tiled.logits.begin() + r * padded + first;
                    columns.insert(columns.end(), from, from + width);
                }
                visit(first, matrix(columns, rows, width));
                for (std::int64_t r = 0; r < rows; ++r) {
                    std::copy_n(columns.begin() + r * width, width,
                                tiled.logits.begin() + r * padded + first);
                }
            }
        };
        each_tile([&](std::int64_t first, tensor::TensorRef<TypeParam, 2> logits) {
            cross_entropy_tile<TypeParam>(test_stream(), {logits.data, {logits.extent(0), logits.extent(1)}},
                                          first, vocab, row(tiled.targets), row(tiled.mask),
                                          first == 0 ? Accumulate::no : Accumulate::yes, statistics,
                                          tiled.transform);
        });
        losses_of_statistics(test_stream(), statistics, row(tiled.mask), row(tiled.losses));
        each_tile([&](std::int64_t first, tensor::TensorRef<TypeParam, 2> logits) {
            cross_entropy_tile_gradient<TypeParam>(test_stream(), logits, first, vocab, row(tiled.targets),
                                                   row(tiled.mask), {}, statistics, &tiled.inputs,
                                                   tiled.transform);
        });

        EXPECT_EQ(tiled.losses, whole.losses) << rows << 'x' << vocab;
        EXPECT_EQ(doubles(tiled.logits), doubles(whole.logits)) << rows << 'x' << vocab;
    }
}

TYPED_TEST(CrossEntropy, BySlicesOfTheVocabularyIsThatOfTheWhole) {
    // The last slice is only padding.
    for (const auto& [rows, vocab, padded, transform] :
         {Sizes{5, 2100, 3072}, Sizes{3, 37, 48}, Sizes{4, 9, 24}, Sizes{5, 2100, 3072, {0.3f}},
          Sizes{5, 2100, 3072, {0.3f, 2}}}) {
        Data<TypeParam> whole{rows, vocab, padded};
        whole.transform = transform;
        whole.mask.assign(static_cast<std::size_t>(rows), 1);
        whole.mask[1] = 0;
        auto cut = whole;
        whole.run();

        constexpr std::int64_t slices = 4;
        const auto width = padded / slices;
        std::vector<std::vector<TypeParam>> columns(slices);
        std::vector<LossStatistics> all, merged(static_cast<std::size_t>(rows));
        for (std::int64_t slice = 0; slice < slices; ++slice) {
            auto& own = columns[static_cast<std::size_t>(slice)];
            for (std::int64_t r = 0; r < rows; ++r) {
                const auto from = cut.logits.begin() + r * padded + slice * width;
                own.insert(own.end(), from, from + width);
            }
            std::vector<LossStatistics> statistics(static_cast<std::size_t>(rows), {7, 7, 7});
            cross_entropy_tile<TypeParam>(test_stream(), {own.data(), {rows, width}}, slice * width, vocab,
                                          row(cut.targets), row(cut.mask), Accumulate::no, statistics,
                                          cut.transform);
            all.insert(all.end(), statistics.begin(), statistics.end());
        }
        merge_statistics(test_stream(), all, merged);
        losses_of_statistics(test_stream(), merged, row(cut.mask), row(cut.losses));
        for (std::int64_t slice = 0; slice < slices; ++slice) {
            auto& own = columns[static_cast<std::size_t>(slice)];
            cross_entropy_tile_gradient<TypeParam>(test_stream(), matrix(own, rows, width), slice * width,
                                                   vocab, row(cut.targets), row(cut.mask), {}, merged,
                                                   &cut.inputs, cut.transform);
            for (std::int64_t r = 0; r < rows; ++r) {
                std::copy_n(own.begin() + r * width, width, cut.logits.begin() + r * padded + slice * width);
            }
        }

        EXPECT_LT(relative_error(cut.losses, doubles(whole.losses)), 1e-6) << rows << 'x' << vocab;
        EXPECT_LT(relative_error(cut.logits, doubles(whole.logits)), bound<TypeParam>)
            << rows << 'x' << vocab;
    }
}

TYPED_TEST(CrossEntropy, WeightsMultiplyTheGradientsOfRows) {
    for (const auto& transform : {LogitTransform{}, LogitTransform{0.3f, 2}}) {
        constexpr std::int64_t rows = 5, vocab = 37, padded = 48;
        Data<TypeParam> plain{rows, vocab, padded};
        plain.transform = transform;
        plain.mask.assign(rows, 1);
        plain.mask[3] = 0;
        auto weighted = plain;
        const std::vector<float> weights{1, -0.5f, 0, 2, -4};
        std::vector<LossStatistics> statistics(rows);
        cross_entropy_tile<TypeParam>(test_stream(), matrix(plain.logits, rows, padded), 0, vocab,
                                      row(plain.targets), row(plain.mask), Accumulate::no, statistics,
                                      transform);
        const auto add_gradients = [&](Data<TypeParam>& data, VectorAddress<const float> of_rows) {
            cross_entropy_tile_gradient<TypeParam>(test_stream(), matrix(data.logits, rows, padded), 0, vocab,
                                                   row(data.targets), row(data.mask), of_rows, statistics,
                                                   &data.inputs, transform);
        };
        add_gradients(plain, {});
        add_gradients(weighted, weights);
        auto expected = doubles(plain.logits);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            expected[i] *= static_cast<double>(weights[i / padded]);
        }
        EXPECT_LT(relative_error(weighted.logits, expected), bound<TypeParam>);
        EXPECT_GT(relative_error(plain.logits, expected), 0.1);
    }
}

TEST(CrossEntropyFloat, IsStableForLargeLogits) {
    Data<float> data{3, 37, 37};
    for (auto& logit : data.logits) {
        logit = logit * 30 + 1e4f;
    }
    std::vector<double> expected;
    for (std::int64_t r = 0; r < 3; ++r) {
        expected.push_back(reference::cross_entropy(data.valid_logits(r),
                                                    static_cast<std::size_t>(data.targets[std::size_t(r)])));
    }
    data.run();

    EXPECT_LT(relative_error(data.losses, expected), 1e-5);
}

TEST(CrossEntropyFloat, IsStableWhereverTheMaximumLies) {
    for (const std::size_t position : {0u, 1023u, 1024u, 2999u}) {
        Data<float> data{1, 3000, 3000};
        data.logits[position] = 300;
        data.targets = {7};
        const double expected = reference::cross_entropy(doubles(data.logits), 7);
        data.run();
        EXPECT_NEAR(data.losses[0], expected, 1e-4) << position;
        EXPECT_NEAR(data.logits[position] * 96, 1, 1e-4) << position;
    }
}

TEST(CrossEntropyFloat, AScaleOfZeroGivesNoGradientButTheLosses) {
    Data<float> data{5, 37, 64};
    Data<float> scaled{5, 37, 64};
    data.inputs.loss_scale = 0;
    data.run();
    scaled.run();

    EXPECT_EQ(data.logits, std::vector<float>(data.logits.size()));
    EXPECT_TRUE(same_bits(data.losses, scaled.losses));
}

TEST(CrossEntropyFloat, ANonFiniteLogitGivesANonFiniteLoss) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float bad : {std::nanf(""), infinity}) {
        for (const std::size_t position : {0u, 17u, 36u}) {
            Data<float> data{1, 37, 37};
            data.logits[position] = bad;
            data.run();
            EXPECT_FALSE(std::isfinite(data.losses[0]));
        }
    }
}

TEST(CrossEntropyFloat, RefusesAFactorThatIsNotPositiveAndANegativeCap) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const LogitTransform& transform :
         {LogitTransform{0.0f}, {-1.0f}, {infinity}, {1, -2.0f}, {1, infinity}}) {
        Data<float> data{3, 37, 64};
        data.transform = transform;
        EXPECT_THROW(data.run(), Error) << transform.factor << ' ' << transform.cap;
    }
}

TEST(CrossEntropyFloat, ACapBoundsLogitsAndKeepsWhatIsNotANumber) {
    Data<float> data{3, 37, 64};
    data.transform = {1, 30};
    data.logits[5] = std::numeric_limits<float>::infinity();
    data.logits[64 + 7] = -1e30f;
    data.logits[128 + 9] = std::nanf("");
    data.run();
    EXPECT_TRUE(std::isfinite(data.losses[0]));
    EXPECT_EQ(data.logits[5], 0.0f);  // the cap is flat there
    EXPECT_TRUE(std::isfinite(data.losses[1]));
    EXPECT_TRUE(std::isnan(data.losses[2]));
}

TEST(CrossEntropyFloat, RefusesTargetsOutsideTheVocabularyOrHasNoLossForThem) {
    Data<float> data{3, 37, 64};
    data.targets[1] = 37;
    if (!tests_on_cuda()) {
        EXPECT_THROW(data.run(), Error);
        return;
    }
    data.run();
    EXPECT_TRUE(std::isfinite(data.losses[0]));
    EXPECT_TRUE(std::isnan(data.losses[1]));
    EXPECT_TRUE(std::isnan(data.logits[64]));
    EXPECT_TRUE(std::isfinite(data.losses[2]));
}

TEST(CrossEntropyReference, BackwardIsTheFiniteDifference) {
    auto logits = doubles(normal_values<float>(9, 1));
    const auto d = reference::cross_entropy_backward(logits, 4);
    for (std::size_t c = 0; c < logits.size(); ++c) {
        EXPECT_NEAR(finite_difference(logits[c], [&] { return reference::cross_entropy(logits, 4); }), d[c],
                    1e-8);
    }
}

}  // namespace
}  // namespace ziggurat::kernels
