#include "kernels/norm/whole_norm.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"
#include "tests/reference/whole_norm.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

constexpr float epsilon = 1e-6f;

struct Case {
    std::int64_t rows;
    QkvHeads heads;
};

/// Heads that no vector or pack divides, usual ones, and more columns than a GPU's launch computes.
const Case cases[] = {{1, {1, 1, 1}},    {67, {3, 1, 10}},  {5, {6, 2, 40}},   {33, {4, 4, 64}},
                      {40, {8, 2, 128}}, {700, {2, 1, 24}}, {9, {16, 16, 37}}, {3, {90, 90, 128}}};

template <class T>
struct Data {
    explicit Data(const Case& of, int num_ranks = 1)
        : rows{of.rows},
          heads{of.heads},
          ranks{num_ranks},
          x{normal_values<T>(rows * heads.width(), 1, 2)},
          gain{normal_values<T>(normalized(), 3)},
          dx{normal_values<T>(rows * heads.width(), 5)} {}

    std::int64_t normalized() const { return (heads.heads + heads.kv_heads) * heads.head_dim; }

    std::int64_t rows;
    QkvHeads heads;
    int ranks;
    std::vector<T> x, gain, dx;
    std::vector<T> y = std::vector<T>(x.size());
    std::vector<float> sums = std::vector<float>(2 * rows);
    std::vector<float> d_sums = sums;
    std::vector<float> d_gain = std::vector<float>(gain.size());
    std::vector<std::byte> workspace = column_sum_workspace(normalized());

    void sum(const device::Stream& stream) {
        square_sums<T>(stream, heads, matrix(x, rows, heads.width()), matrix(sums, rows, 2));
    }
    void normalize(const device::Stream& stream) {
        whole_norm_forward<T>(stream, heads, ranks, matrix(x, rows, heads.width()), matrix(sums, rows, 2),
                              row(gain), epsilon, matrix(y, rows, heads.width()));
    }
    void backward(const device::Stream& stream, Accumulate accumulate) {
        whole_norm_backward<T>(stream, heads, ranks, matrix(x, rows, heads.width()), matrix(sums, rows, 2),
                               row(gain), epsilon, matrix(dx, rows, heads.width()), matrix(d_sums, rows, 2),
                               row(d_gain), accumulate, workspace);
    }
    void backward_of_sums(const device::Stream& stream) {
        square_sums_backward<T>(stream, heads, matrix(x, rows, heads.width()), matrix(d_sums, rows, 2),
                                matrix(dx, rows, heads.width()));
    }
    void run_all(const device::Stream& stream) {
        sum(stream);
        normalize(stream);
        backward(stream, Accumulate::no);
        backward_of_sums(stream);
    }
    reference::Heads as_reference() const {
        return {static_cast<std::size_t>(heads.heads), static_cast<std::size_t>(heads.kv_heads),
                static_cast<std::size_t>(heads.head_dim)};
    }
    /// Returns the elements of the value heads.
    std::vector<double> values_of(const std::vector<T>& qkv) const {
        std::vector<double> values;
        for (std::int64_t i = 0; i < std::ssize(qkv); ++i) {
            if (i % heads.width() >= normalized()) {
                values.push_back(double(float(qkv[i])));
            }
        }
        return values;
    }
};

template <class T>
class WholeNorm : public ::testing::Test {};
using Types = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(WholeNorm, Types);

TYPED_TEST(WholeNorm, ForwardIsTheReference) {
    for (const auto& of : cases) {
        Data<TypeParam> data{of};

        data.sum(test_stream());
        data.normalize(test_stream());

        const auto expected =
            reference::whole_norm(doubles(data.x), doubles(data.gain), data.as_reference(), epsilon);
        EXPECT_LT(relative_error(data.y, expected), bound<TypeParam>) << of.rows << 'x' << of.heads.head_dim;
        EXPECT_EQ(data.values_of(data.y), data.values_of(data.x)) << "not copied";
    }
}

TYPED_TEST(WholeNorm, BackwardIsTheReference) {
    for (const auto& of : cases) {
        Data<TypeParam> data{of};
        const auto before = data.dx;
        const auto expected = reference::whole_norm_backward(
            doubles(data.x), doubles(data.dx), doubles(data.gain), data.as_reference(), epsilon);

        data.run_all(test_stream());

        // The gradient of one element is the small difference of two numbers, of which each is rounded.
        if (of.heads.head_dim > 1) {
            EXPECT_LT(relative_error(data.dx, expected.x), 2 * bound<TypeParam>)
                << of.rows << 'x' << of.heads.head_dim;
        }
        EXPECT_LT(relative_error(data.d_gain, expected.gain), 4e-6) << of.rows << 'x' << of.heads.head_dim;
        EXPECT_EQ(data.values_of(data.dx), data.values_of(before)) << "changed";
    }
}

/// Copies columns [from, from + count) of a matrix to those from `to` on of another.
template <class T>
void copy_columns(const std::vector<T>& source,
                  std::int64_t source_width,
                  std::int64_t from,
                  std::vector<T>& target,
                  std::int64_t target_width,
                  std::int64_t to,
                  std::int64_t count) {
    for (std::int64_t row = 0; row * source_width < std::ssize(source); ++row) {
        std::copy_n(source.begin() + row * source_width + from, count,
                    target.begin() + row * target_width + to);
    }
}

/// Two ranks, each with half of the query heads. Each has its own key head, or both have the same one.
TEST(WholeNormOnTwoRanks, SumsAndTheirGradientsMakeTheNormOfAllHeads) {
    constexpr std::int64_t rows = 7, d = 10;
    for (const std::int64_t kv_heads : {2, 1}) {
        Data<float> whole{{rows, {4, kv_heads, d}}};
        std::vector<Data<float>> ranks(2, Data<float>{{rows, {2, 1, d}}, 2});
        const auto wide = whole.heads.width(), narrow = ranks[0].heads.width();
        const auto first_key = [&](int rank) { return (4 + (kv_heads == 2 ? rank : 0)) * d; };
        for (int r = 0; r < 2; ++r) {
            auto& own = ranks[r];
            copy_columns(whole.x, wide, 2 * r * d, own.x, narrow, 0, 2 * d);
            copy_columns(whole.dx, wide, 2 * r * d, own.dx, narrow, 0, 2 * d);
            copy_columns(whole.x, wide, first_key(r), own.x, narrow, 2 * d, d);
            const auto gains = std::ssize(whole.gain), own_gains = std::ssize(own.gain);
            copy_columns(whole.gain, gains, 2 * r * d, own.gain, own_gains, 0, 2 * d);
            copy_columns(whole.gain, gains, first_key(r), own.gain, own_gains, 2 * d, d);
        }
        // The gradient of a shared key is the sum of the ranks' parts.
        for (std::int64_t row = 0; row < rows; ++row) {
            for (std::int64_t c = 0; c < d; ++c) {
                for (int r = 0; r < 2; ++r) {
                    float& dk = whole.dx[row * wide + first_key(r) + c];
                    float& own = ranks[r].dx[row * narrow + 2 * d + c];
                    if (kv_heads == 2) {
                        own = dk;
                    } else {
                        dk = ranks[0].dx[row * narrow + 2 * d + c] + 0.25f;
                        ranks[1].dx[row * narrow + 2 * d + c] = 0.25f;
                    }
                }
            }
        }

        const auto add = [&](std::vector<float> Data<float>::*sums) {
            for (std::size_t i = 0; i < whole.sums.size(); ++i) {
                (ranks[0].*sums)[i] += (ranks[1].*sums)[i];
            }
            ranks[1].*sums = ranks[0].*sums;
        };
        const auto expected =
            reference::whole_norm(doubles(whole.x), doubles(whole.gain), whole.as_reference(), epsilon);
        const auto gradients = reference::whole_norm_backward(
            doubles(whole.x), doubles(whole.dx), doubles(whole.gain), whole.as_reference(), epsilon);
        for (auto& rank : ranks) {
            rank.sum(test_stream());
        }
        add(&Data<float>::sums);
        for (auto& rank : ranks) {
            rank.normalize(test_stream());
            rank.backward(test_stream(), Accumulate::no);
        }
        add(&Data<float>::d_sums);
        for (auto& rank : ranks) {
            rank.backward_of_sums(test_stream());
        }

        for (std::int64_t row = 0; row < rows; ++row) {
            for (int r = 0; r < 2; ++r) {
                for (std::int64_t c = 0; c < 3 * d; ++c) {
                    const bool is_key = c >= 2 * d;
                    const auto at = row * wide + (is_key ? first_key(r) + c - 2 * d : 2 * r * d + c);
                    const auto own = row * narrow + c;
                    EXPECT_NEAR(ranks[r].y[own], expected[at], 1e-5);
                    const float both = ranks[0].dx[own] + ranks[1].dx[own];
                    EXPECT_NEAR(is_key && kv_heads == 1 ? both : ranks[r].dx[own], gradients.x[at], 1e-5);
                }
            }
        }
        for (std::int64_t c = 0; c < d; ++c) {
            const float both = ranks[0].d_gain[2 * d + c] + ranks[1].d_gain[2 * d + c];
            EXPECT_NEAR(kv_heads == 1 ? both : ranks[0].d_gain[2 * d + c], gradients.gain[4 * d + c], 1e-4);
            EXPECT_NEAR(ranks[1].d_gain[c], gradients.gain[2 * d + c], 1e-4);
        }
    }
}

TYPED_TEST(WholeNorm, AddsToGradientsWhenAsked) {
    Data<TypeParam> data{{67, {3, 1, 10}}};
    const auto dy = data.dx;
    data.run_all(test_stream());
    const auto once = data.d_gain;
    data.dx = dy;
    data.backward(test_stream(), Accumulate::yes);

    for (std::size_t c = 0; c < once.size(); ++c) {
        EXPECT_EQ(data.d_gain[c], 2 * once[c]);
    }
}

TYPED_TEST(WholeNorm, GivesTheSameBitsWhereNoOtherGradientIsNeeded) {
    Data<TypeParam> all{{67, {3, 1, 10}}};
    Data<TypeParam> frozen{{67, {3, 1, 10}}};
    Data<TypeParam> first{{67, {3, 1, 10}}};
    frozen.d_gain.clear();
    for (auto* data : {&all, &frozen, &first}) {
        data->sum(test_stream());
    }
    all.backward(test_stream(), Accumulate::no);
    frozen.backward(test_stream(), Accumulate::no);
    whole_norm_backward<TypeParam>(test_stream(), first.heads, 1, matrix(first.x, 67, first.heads.width()),
                                   matrix(first.sums, 67, 2), row(first.gain), epsilon,
                                   matrix(first.dx, 67, first.heads.width()), {}, row(first.d_gain),
                                   Accumulate::no, first.workspace);

    EXPECT_EQ(doubles(frozen.dx), doubles(all.dx));
    EXPECT_EQ(frozen.d_sums, all.d_sums);
    EXPECT_EQ(doubles(first.dx), doubles(all.dx));
    EXPECT_EQ(first.d_gain, all.d_gain);
}

TYPED_TEST(WholeNorm, HasTheSameBitsOnOneThread) {
    Data<TypeParam> two{{67, {5, 5, 37}}};
    Data<TypeParam> one{{67, {5, 5, 37}}};
    two.run_all(test_stream());
    on_one_thread([&](const device::Stream& stream) { one.run_all(stream); });

    EXPECT_TRUE(same_bits(one.y, two.y));
    EXPECT_TRUE(same_bits(one.dx, two.dx));
    EXPECT_TRUE(same_bits(one.d_sums, two.d_sums));
    EXPECT_TRUE(same_bits(one.d_gain, two.d_gain));
}

TEST(WholeNormFloat, RefusesShapesThatDisagree) {
    Data<float> data{{3, {3, 1, 10}}};
    data.gain.pop_back();
    EXPECT_THROW(data.normalize(test_stream()), Error);
    EXPECT_THROW(data.backward(test_stream(), Accumulate::no), Error);
    data.rows = 2;
    data.x.resize(2 * static_cast<std::size_t>(data.heads.width()));
    EXPECT_THROW(square_sums<float>(test_stream(), data.heads, matrix(data.x, 2, data.heads.width()),
                                    matrix(data.sums, 3, 2)),
                 Error);
}

TEST(WholeNormReference, BackwardIsTheFiniteDifference) {
    const reference::Heads heads{2, 1, 5};
    auto x = doubles(normal_values<float>(3 * 20, 1));
    auto gain = doubles(normal_values<float>(15, 2));
    const auto dy = doubles(normal_values<float>(3 * 20, 4));
    const auto value = [&] { return dot(reference::whole_norm(x, gain, heads, epsilon), dy); };
    const auto d = reference::whole_norm_backward(x, dy, gain, heads, epsilon);

    EXPECT_LE(gap_to_finite_differences(x, d.x, value), 1e-6);
    EXPECT_LE(gap_to_finite_differences(gain, d.gain, value), 1e-6);
}

}  // namespace
}  // namespace ziggurat::kernels
