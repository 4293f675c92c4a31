#include "comm/fold.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/mpi/collectives/numbered_vectors.hpp"

namespace ziggurat::comm {
namespace {

using tensor::bfloat16;
using namespace ziggurat::test;

template <class T>
class FoldOf : public ::testing::Test {};
using ElementTypes = ::testing::Types<float, bfloat16>;
TYPED_TEST_SUITE(FoldOf, ElementTypes);

TYPED_TEST(FoldOf, GivesTheBitsOfTheScalarFold) {
    using T = TypeParam;
    for (const int members : {1, 2, 3, 6, 9}) {
        for (const std::int64_t elements : {0, 1, 15, 16, 17, 2047, 2048, 5001}) {
            for (const int sum_group : {0, 1, 2, 3, 4, 100}) {
                std::vector<std::vector<T>> vectors;
                std::vector<const std::byte*> inputs;
                for (int m = 0; m < members; ++m) {
                    vectors.push_back(filled<T>(elements, m, ragged));
                    inputs.push_back(bytes(vectors.back()));
                }
                std::vector<T> output(static_cast<std::size_t>(elements));

                fold(inputs, bytes(output), elements, dtype_of<T>, sum_group);

                for (std::int64_t i = 0; i < elements; ++i) {
                    const T want = expected_sum<T>(members, sum_group, i, ragged);
                    ASSERT_EQ(0, std::memcmp(&want, &output[static_cast<std::size_t>(i)], sizeof(T)))
                        << members << " members, sum_group " << sum_group << ", element " << i;
                }
            }
        }
    }
}

TYPED_TEST(FoldOf, MayWriteOverAnyOfItsInputs) {
    using T = TypeParam;
    for (int target = 0; target < 3; ++target) {
        std::vector<std::vector<T>> vectors;
        for (int m = 0; m < 3; ++m) {
            vectors.push_back(filled<T>(3001, m, ragged));
        }
        const std::vector<const std::byte*> inputs{bytes(vectors[0]), bytes(vectors[1]), bytes(vectors[2])};

        fold(inputs, bytes(vectors[static_cast<std::size_t>(target)]), 3001, dtype_of<T>, 2);

        for (std::int64_t i = 0; i < 3001; ++i) {
            ASSERT_EQ(expected_sum<T>(3, 2, i, ragged),
                      vectors[static_cast<std::size_t>(target)][static_cast<std::size_t>(i)]);
        }
    }
}

TEST(Fold, OrderIsVisibleInTheBits) {
    // The other comparisons would be meaningless if groups of two gave the same bits as no groups.
    int differing = 0;
    for (std::int64_t i = 0; i < 1000; ++i) {
        differing += expected_sum<float>(6, 0, i, ragged) != expected_sum<float>(6, 2, i, ragged) ? 1 : 0;
        differing += expected_sum<float>(6, 2, i, ragged) != expected_sum<float>(6, 3, i, ragged) ? 1 : 0;
    }
    EXPECT_GT(differing, 100);
}

TEST(Fold, KeepsNotANumberAndInfinity) {
    const std::vector<float> a{std::numeric_limits<float>::infinity(), 1,
                               std::numeric_limits<float>::quiet_NaN()};
    const std::vector<float> b{1, std::numeric_limits<float>::quiet_NaN(), 1};
    const std::vector<const std::byte*> inputs{bytes(a), bytes(b)};
    std::vector<float> output(3);

    fold(inputs, bytes(output), 3, spec::DType::f32, 0);

    EXPECT_EQ(std::numeric_limits<float>::infinity(), output[0]);
    EXPECT_NE(output[1], output[1]);
    EXPECT_NE(output[2], output[2]);
}

}  // namespace
}  // namespace ziggurat::comm
