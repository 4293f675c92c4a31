#include "kernels/column_sum.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

template <class T>
class ColumnSum : public ::testing::Test {};
using Types = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(ColumnSum, Types);

TYPED_TEST(ColumnSum, AddsUpEveryColumnOrAddsToWhatIsThere) {
    for (const auto [rows, width] : {Extents{1, 1}, {2, 37}, {67, 37}, {257, 129}, {4, 1030}, {700, 40}}) {
        auto dy = normal_values<TypeParam>(rows * width, 1);
        auto workspace = column_sum_workspace(width);
        std::vector<float> out(static_cast<std::size_t>(width), 7.0f);
        std::vector<double> expected(out.size());
        for (std::size_t i = 0; i < dy.size(); ++i) {
            expected[i % out.size()] += double(float(dy[i]));
        }

        column_sum<TypeParam>(test_stream(), matrix(dy, rows, width), row(out), Accumulate::no, workspace);
        EXPECT_LT(relative_error(out, expected), 1e-6);

        column_sum<TypeParam>(test_stream(), matrix(dy, rows, width), row(out), Accumulate::yes, workspace);
        for (auto& value : expected) {
            value *= 2;
        }
        EXPECT_LT(relative_error(out, expected), 1e-6);
    }
}

TYPED_TEST(ColumnSum, HasTheSameBitsOnOneThread) {
    auto dy = normal_values<TypeParam>(515 * 129, 1);
    auto workspace = column_sum_workspace(129);
    std::vector<float> two(129);
    std::vector<float> one(129);

    column_sum<TypeParam>(test_stream(), matrix(dy, 515, 129), row(two), Accumulate::no, workspace);
    on_one_thread([&](const device::Stream& stream) {
        column_sum<TypeParam>(stream, matrix(dy, 515, 129), row(one), Accumulate::no, workspace);
    });

    EXPECT_TRUE(same_bits(one, two));
}

TEST(ColumnSumFloat, RefusesAShortWorkspace) {
    std::vector<float> dy(6);
    std::vector<float> out(3);
    std::vector<std::byte> workspace(16);
    EXPECT_THROW(column_sum<float>(test_stream(), matrix(dy, 2, 3), row(out), Accumulate::no, workspace),
                 Error);
}

}  // namespace
}  // namespace ziggurat::kernels
