#include "kernels/context/head_exchange.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/error.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;
using tensor::bfloat16;
using tensor::TensorRef;

constexpr std::int64_t rows = 5;

template <class T>
TensorRef<T, 2> matrix(std::vector<std::remove_const_t<T>>& values, std::int64_t width) {
    return {values.data(), {std::ssize(values) / width, width}};
}

/// Returns the column of the whole row that column `c` of the part of `rank` holds, head by head.
std::int64_t column_of(const ContextHeads& of, std::int64_t rank, std::int64_t c) {
    const auto head = c / of.head_dim;
    const auto query = rank * of.part_heads() + head;
    if (head < of.part_heads()) {
        return query * of.head_dim + c % of.head_dim;
    }
    // The key heads of the part are those that its query heads use.
    const auto first_query = rank * of.part_heads();
    const auto first_key = first_query / (of.heads / of.kv_heads);
    const auto of_keys = head - of.part_heads();
    const bool is_value = of_keys >= of.part_kv_heads();
    const auto key = first_key + of_keys - (is_value ? of.part_kv_heads() : 0);
    return (of.heads + (is_value ? of.kv_heads : 0) + key) * of.head_dim + c % of.head_dim;
}

const std::array cases = {
    ContextHeads{.ranks = 2, .heads = 4, .kv_heads = 4, .head_dim = 3},
    ContextHeads{.ranks = 3, .heads = 6, .kv_heads = 3, .head_dim = 8},
    ContextHeads{.ranks = 2, .heads = 8, .kv_heads = 4, .head_dim = 5},
    ContextHeads{.ranks = 4, .heads = 8, .kv_heads = 2, .head_dim = 4},
    ContextHeads{.ranks = 3, .heads = 3, .kv_heads = 1, .head_dim = 2},
    ContextHeads{.ranks = 3, .heads = 6, .kv_heads = 0, .head_dim = 7},
};

template <class T>
class HeadExchange : public testing::Test {};
using Types = testing::Types<float, bfloat16>;
TYPED_TEST_SUITE(HeadExchange, Types);

TYPED_TEST(HeadExchange, GivesEachRankItsQueryHeadsAndTheKeyHeadsThatTheyUse) {
    using T = TypeParam;
    for (const auto& of : cases) {
        auto whole = normal_values<T>(rows * of.width(), 1);
        std::vector<T> parts(static_cast<std::size_t>(of.ranks * rows * of.part_width()));
        split_heads<T>(test_stream(), of, matrix<const T>(whole, of.width()),
                       matrix<T>(parts, of.part_width()));
        for (std::int64_t rank = 0; rank < of.ranks; ++rank) {
            for (std::int64_t row = 0; row < rows; ++row) {
                for (std::int64_t c = 0; c < of.part_width(); ++c) {
                    const auto part = (rank * rows + row) * of.part_width() + c;
                    const auto source = row * of.width() + column_of(of, rank, c);
                    ASSERT_EQ(parts[static_cast<std::size_t>(part)], whole[static_cast<std::size_t>(source)]);
                }
            }
        }
    }
}

TYPED_TEST(HeadExchange, AddsTheGradientsOfSharedKeyHeadsInFloatAndRoundsOnce) {
    using T = TypeParam;
    for (const auto& of : cases) {
        auto parts = normal_values<T>(of.ranks * rows * of.part_width(), 2);
        std::vector<T> whole(static_cast<std::size_t>(rows * of.width()), T(-1.0f));
        join_heads<T>(test_stream(), of, matrix<const T>(parts, of.part_width()),
                      matrix<T>(whole, of.width()));
        std::vector<float> sums(whole.size());
        for (std::int64_t rank = 0; rank < of.ranks; ++rank) {
            for (std::int64_t row = 0; row < rows; ++row) {
                for (std::int64_t c = 0; c < of.part_width(); ++c) {
                    const auto to = row * of.width() + column_of(of, rank, c);
                    const auto from = (rank * rows + row) * of.part_width() + c;
                    sums[static_cast<std::size_t>(to)] += float(parts[static_cast<std::size_t>(from)]);
                }
            }
        }
        for (std::size_t i = 0; i < sums.size(); ++i) {
            ASSERT_EQ(whole[i], T(sums[i]));
        }
    }
}

TYPED_TEST(HeadExchange, ExchangesTwoExtentsOfBlocks) {
    using T = TypeParam;
    constexpr std::int64_t outer = 3, inner = 2, n = 4, width = 7;
    auto from = normal_values<T>(outer * inner * n * width, 3);
    std::vector<T> to(from.size());
    exchange_blocks<T>(test_stream(), outer, inner, matrix<const T>(from, width), matrix<T>(to, width));
    for (std::int64_t a = 0; a < outer; ++a) {
        for (std::int64_t b = 0; b < inner; ++b) {
            for (std::int64_t i = 0; i < n * width; ++i) {
                ASSERT_EQ(to[static_cast<std::size_t>((b * outer + a) * n * width + i)],
                          from[static_cast<std::size_t>((a * inner + b) * n * width + i)]);
            }
        }
    }
}

TYPED_TEST(HeadExchange, RejectsPartsThatAreNotEqual) {
    using T = TypeParam;
    const ContextHeads of{.ranks = 2, .heads = 6, .kv_heads = 3, .head_dim = 2};
    auto whole = normal_values<T>(rows * of.width(), 1);
    std::vector<T> parts(static_cast<std::size_t>(of.ranks * rows * of.part_width()));
    EXPECT_THROW(split_heads<T>(test_stream(), of, matrix<const T>(whole, of.width()),
                                matrix<T>(parts, of.part_width())),
                 Error);
}

}  // namespace
}  // namespace ziggurat::kernels
