#include "kernels/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/kernels/attention_checks.hpp"

namespace ziggurat::kernels {
namespace {

template <class T>
class AttentionTest : public ::testing::Test {
  protected:
    test::Attention<T> attention{attention_forward<T>, attention_backward<T>};
};
using ComputeTypes = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(AttentionTest, ComputeTypes);

TYPED_TEST(AttentionTest, IsTheSoftmaxOfTheReferenceAndItsGradient) {
    test::expect_reference(this->attention);
}

TYPED_TEST(AttentionTest, HasTheSameBitsForAnyNumberOfThreads) {
    test::expect_same_bits_for_any_threads(
        this->attention, {.shape = {3, 133, 6, 3, 40}, .document = 50, .probability = 0.2f});
}

TYPED_TEST(AttentionTest, HasTheSameBitsWithTheUsualScaleAndWithout) {
    test::AttentionCase<TypeParam> usual{.shape = {2, 45, 4, 2, 24}};
    usual.fill();
    auto given = usual;
    given.shape.scale = 1.0f / std::sqrt(24.0f);
    auto doubled = usual;
    doubled.shape.scale = 2.0f / std::sqrt(24.0f);

    const auto expected = usual.run(this->attention, 2);
    const auto same = given.run(this->attention, 2);
    const auto other = doubled.run(this->attention, 2);

    EXPECT_TRUE(test::same_bits(same.out, expected.out));
    EXPECT_TRUE(test::same_bits(same.d_qkv, expected.d_qkv));
    EXPECT_FALSE(test::same_bits(other.out, expected.out));
    EXPECT_FALSE(test::same_bits(other.d_qkv, expected.d_qkv));
}

TYPED_TEST(AttentionTest, HasTheSameBitsInAnyOrderWhereItsOwnKernelsCompute) {
    test::AttentionCase<TypeParam> ordered{.shape = {2, 128, 4, 2, 64}, .document = 50};
    ordered.fill();
    auto free = ordered;
    free.shape.any_order = true;

    const auto expected = ordered.run(this->attention, 2);
    const auto found = free.run(this->attention, 2);

    EXPECT_TRUE(test::same_bits(found.out, expected.out));
    EXPECT_TRUE(test::same_bits(found.d_qkv, expected.d_qkv));
}

TYPED_TEST(AttentionTest, DropsTheSameWeightsWhereHeadsAndSequencesAreSpreadOverRanks) {
    test::AttentionCase<TypeParam> whole{.shape = {2, 45, 4, 4, 16}, .probability = 0.25f};
    whole.fill();
    test::AttentionCase<TypeParam> part{.shape = {1, 45, 2, 2, 16, 2}, .probability = 0.25f};
    part.fill();
    part.samples = {whole.samples[1]};
    for (std::int64_t r = 0; r < 45; ++r) {
        for (std::int64_t c = 0; c < part.width(); ++c) {
            const auto head = c / 16 / 2 * 4 + 2 + c / 16 % 2;  // heads 2 and 3 of q, k and v
            part.qkv[static_cast<std::size_t>(r * part.width() + c)] =
                whole.qkv[static_cast<std::size_t>((45 + r) * whole.width() + head * 16 + c % 16)];
        }
    }

    const auto all = whole.run(this->attention, 2);
    const auto some = part.run(this->attention, 2);

    for (std::int64_t r = 0; r < 45; ++r) {
        for (std::int64_t c = 0; c < 32; ++c) {
            ASSERT_EQ(float(some.out[static_cast<std::size_t>(r * 32 + c)]),
                      float(all.out[static_cast<std::size_t>((45 + r) * 64 + 32 + c)]));
        }
    }
}

TYPED_TEST(AttentionTest, RefusesDocumentStartsThatFallOrLieAhead) {
    if (test::tests_on_cuda()) {
        GTEST_SKIP() << "a GPU does not refuse values";
    }
    test::AttentionCase<TypeParam> c{.shape = {1, 8, 1, 1, 4}, .document = 3};
    c.fill();
    c.starts[7] = 2;
    EXPECT_ANY_THROW(c.run(this->attention, 2));

    c.starts[7] = 8;
    EXPECT_ANY_THROW(c.run(this->attention, 2));
}

TEST(AttentionReference, AgreesWithFiniteDifferences) {
    test::AttentionCase<float> c{.shape = {1, 5, 1, 1, 3}, .document = 3, .probability = 0.4f};
    c.fill();
    auto head = c.reference_head(0, 0);
    const auto d_out = c.columns(c.d_out, 0, 0);
    const auto gradient = reference::attention_backward(head, d_out);
    const auto value = [&] { return test::dot(reference::attention(head), d_out); };

    for (std::size_t i = 0; i < head.q.size(); ++i) {
        EXPECT_NEAR(test::finite_difference(head.q[i], value), gradient.q[i], 1e-7);
        EXPECT_NEAR(test::finite_difference(head.k[i], value), gradient.k[i], 1e-7);
        EXPECT_NEAR(test::finite_difference(head.v[i], value), gradient.v[i], 1e-7);
    }
}

}  // namespace
}  // namespace ziggurat::kernels
