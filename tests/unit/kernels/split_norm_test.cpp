#include "kernels/norm/split_norm.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"
#include "tests/reference/layer_norm.hpp"
#include "tests/reference/rms_norm.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

constexpr float epsilon = 1e-6f;
constexpr std::int64_t num_parts = 3;

struct Case {
    std::int64_t rows;
    std::int64_t part;  ///< width of a rank's part
    bool has_mean;      ///< LayerNorm
};

const Case cases[] = {{1, 5, false}, {67, 13, true}, {5, 43, false}, {33, 256, true}, {130, 7, false}};

template <class T>
std::vector<T> part_of(const std::vector<T>& values, std::int64_t width, std::int64_t index) {
    std::vector<T> part;
    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
        if (i % width / (width / num_parts) == index) {
            part.push_back(values[i]);
        }
    }
    return part;
}

/// Whole rows, whose parts num_parts ranks have.
template <class T>
struct Whole {
    explicit Whole(const Case& of)
        : width{num_parts * of.part},
          x{normal_values<T>(of.rows * width, 1, 2)},
          dy{normal_values<T>(of.rows * width, 2)},
          gain{normal_values<T>(width, 3)},
          bias{normal_values<T>(width, 4)} {}

    std::int64_t width;
    std::vector<T> x, dy, gain, bias;
};

/// One rank's part.
template <class T>
struct Part {
    Part(const Whole<T>& whole, const Case& of, std::int64_t index)
        : rows{of.rows},
          width{of.part},
          num_sums{of.has_mean ? 2 : 1},
          norm{whole.width, 0, epsilon},
          x{part_of(whole.x, whole.width, index)},
          dy{part_of(whole.dy, whole.width, index)},
          gain{part_of(whole.gain, whole.width, index)},
          bias{of.has_mean ? part_of(whole.bias, whole.width, index) : std::vector<T>{}} {
        row_sums<T>(test_stream(), matrix(x, rows, width), matrix(sums, rows, num_sums));
    }

    void forward() {
        split_norm_forward<T>(test_stream(), norm, matrix(x, rows, width), matrix(sums, rows, num_sums),
                              row(gain), row(bias), matrix(y, rows, width));
    }
    void backward(Accumulate adds) {
        split_norm_backward<T>(test_stream(), norm, matrix(x, rows, width), matrix(dy, rows, width),
                               matrix(sums, rows, num_sums), row(gain), matrix(dx, rows, width), adds,
                               matrix(d_sums, rows, num_sums), row(d_gain), row(d_bias), Accumulate::no,
                               workspace);
    }
    void backward_of_sums() {
        row_sums_backward<T>(test_stream(), matrix(x, rows, width), matrix(d_sums, rows, num_sums),
                             matrix(dx, rows, width));
    }

    std::int64_t rows, width, num_sums;
    SplitNorm norm;
    std::vector<T> x, dy, gain, bias;
    std::vector<T> y = std::vector<T>(x.size()), dx = std::vector<T>(x.size());
    std::vector<float> sums = std::vector<float>(rows * num_sums), d_sums = sums;
    std::vector<float> d_gain = std::vector<float>(gain.size()), d_bias = std::vector<float>(gain.size());
    std::vector<std::byte> workspace = column_sum_workspace(width);
};

/// Adds the vectors that `member` selects up, as the ranks do.
template <class T>
void add_up(std::vector<Part<T>>& parts, std::vector<float> Part<T>::*member) {
    auto sum = parts.front().*member;
    for (std::size_t p = 1; p < parts.size(); ++p) {
        for (std::size_t i = 0; i < sum.size(); ++i) {
            sum[i] += (parts[p].*member)[i];
        }
    }
    for (auto& part : parts) {
        part.*member = sum;
    }
}

template <class T>
std::vector<Part<T>> parts_of(const Whole<T>& whole, const Case& of) {
    std::vector<Part<T>> parts;
    for (std::int64_t index = 0; index < num_parts; ++index) {
        parts.emplace_back(whole, of, index);
    }
    add_up(parts, &Part<T>::sums);
    return parts;
}

template <class T>
class SplitNormTest : public ::testing::Test {};
using Types = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(SplitNormTest, Types);

TYPED_TEST(SplitNormTest, ForwardIsTheReferenceOfWholeRows) {
    using T = TypeParam;
    for (const auto& of : cases) {
        const Whole<T> whole{of};
        auto parts = parts_of(whole, of);
        const auto expected =
            of.has_mean
                ? reference::layer_norm(doubles(whole.x), doubles(whole.gain), doubles(whole.bias), epsilon)
                : reference::rms_norm(doubles(whole.x), doubles(whole.gain), epsilon);
        for (std::int64_t index = 0; index < num_parts; ++index) {
            auto& part = parts[static_cast<std::size_t>(index)];
            part.forward();
            EXPECT_LT(relative_error(part.y, part_of(expected, whole.width, index)), bound<T>)
                << of.rows << 'x' << of.part;
        }
    }
}

TYPED_TEST(SplitNormTest, BackwardIsTheReferenceOfWholeRows) {
    using T = TypeParam;
    for (const auto& of : cases) {
        const Whole<T> whole{of};
        auto parts = parts_of(whole, of);
        reference::LayerNormGradients expected;
        if (of.has_mean) {
            expected = reference::layer_norm_backward(doubles(whole.x), doubles(whole.dy),
                                                      doubles(whole.gain), epsilon);
        } else {
            auto of_rms = reference::rms_norm_backward(doubles(whole.x), doubles(whole.dy),
                                                       doubles(whole.gain), epsilon);
            expected = {of_rms.x, of_rms.gain, {}};
        }
        for (auto& part : parts) {
            part.backward(Accumulate::no);
        }
        add_up(parts, &Part<T>::d_sums);
        for (std::int64_t index = 0; index < num_parts; ++index) {
            auto& part = parts[static_cast<std::size_t>(index)];
            part.backward_of_sums();
            const auto gap = relative_error(part.dx, part_of(expected.x, whole.width, index));
            EXPECT_LT(gap, 2 * bound<T>) << of.rows << 'x' << of.part;
            EXPECT_LT(relative_error(part.d_gain, part_of(expected.gain, whole.width, index)), 4e-6);
            if (of.has_mean) {
                EXPECT_LT(relative_error(part.d_bias, part_of(expected.bias, whole.width, index)), 4e-6);
            }
        }
    }
}

TYPED_TEST(SplitNormTest, BackwardAddsToTheGradientOfOtherReaders) {
    using T = TypeParam;
    const Case of{9, 8, true};
    const Whole<T> whole{of};
    auto parts = parts_of(whole, of);
    auto& part = parts.front();
    part.backward(Accumulate::no);
    const auto alone = part.dx;
    const auto before = normal_values<T>(std::ssize(part.dx), 7);
    part.dx = before;
    part.backward(Accumulate::yes);
    auto expected = doubles(alone);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        expected[i] += double(float(before[i]));
    }
    EXPECT_LT(relative_error(part.dx, expected), 2 * bound<T>);
}

TEST(SplitNorms, RejectShapesThatDisagree) {
    const Case of{3, 4, true};
    const Whole<float> whole{of};
    Part<float> part{whole, of, 0};
    part.num_sums = 3;
    part.sums.resize(9);
    EXPECT_THROW(part.forward(), Error);
    part.num_sums = 2;
    part.bias.resize(2);
    EXPECT_THROW(part.forward(), Error);
}

}  // namespace
}  // namespace ziggurat::kernels
