#include "kernels/embedding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "kernels/residual.hpp"
#include "tests/reference/embedding.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

constexpr std::int64_t vocab = 19;
constexpr std::int64_t sequence = 11;

/// Three sequences with many repeated tokens.
template <class T>
struct Data {
    explicit Data(std::int64_t width_)
        : width{width_},
          table{normal_values<T>(vocab * width, 1)},
          position_table{normal_values<T>(sequence * width, 2)},
          d_out{normal_values<T>(rows * width, 3)},
          d_table{normal_values<float>(vocab * width, 4)},
          d_position_table{normal_values<float>(sequence * width, 5)} {
        for (std::int32_t r = 0; r < rows; ++r) {
            tokens.push_back(r * r % 7 + (r % 3 == 0 ? 12 : 0));
            positions.push_back(r % std::int32_t{sequence});
        }
    }

    static constexpr std::int64_t rows = 3 * sequence;
    std::int64_t width;
    std::vector<T> table, position_table, d_out;
    std::vector<float> d_table, d_position_table;
    std::vector<T> out = std::vector<T>(d_out.size());
    std::vector<std::int32_t> tokens, positions;
    std::vector<std::int64_t> samples{3, 1, 4};
    StepInputs inputs{};  // in GPU-accessible memory, unlike constants of the program

    Dropout dropout(float probability) const {
        return {.probability = probability,
                .seed = 9,
                .purpose = 1,
                .samples = samples,
                .sequence = sequence,
                .inputs = &inputs};
    }
    void forward(const Dropout& dropout, float table_factor = 1) {
        embedding_forward<T>(test_stream(), row(tokens), row(positions), matrix(table, vocab, width), 0,
                             vocab, matrix(position_table, sequence, width), dropout,
                             matrix(out, rows, width), table_factor);
    }
    /// Returns an empty tensor if the table is frozen.
    tensor::TensorRef<float, 2> of(std::vector<float>& gradient, std::int64_t table_rows) const {
        return gradient.empty() ? tensor::TensorRef<float, 2>{} : matrix(gradient, table_rows, width);
    }
    void backward(const device::Stream& stream,
                  const Dropout& dropout,
                  Accumulate tokens_,
                  Accumulate positions_) {
        embedding_backward<T>(stream, row(tokens), row(positions), matrix(d_out, rows, width), dropout,
                              of(d_table, vocab), 0, vocab, tokens_, of(d_position_table, sequence),
                              positions_);
    }
};

template <class T>
class Embedding : public ::testing::Test {};
using Types = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(Embedding, Types);

TYPED_TEST(Embedding, ForwardAddsTheRowsOfTokenAndPosition) {
    for (const std::int64_t width : {1, 37, 129, 300}) {
        Data<TypeParam> data{width};
        data.forward({});

        const auto columns = static_cast<std::size_t>(width);
        auto expected = reference::lookup(data.tokens, doubles(data.table), columns);
        const auto positions = reference::lookup(data.positions, doubles(data.position_table), columns);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            expected[i] += positions[i];
        }
        EXPECT_LT(relative_error(data.out, expected), bound<TypeParam>);
    }
}

TYPED_TEST(Embedding, WithoutPositionsCopiesRowsOfTheTable) {
    Data<TypeParam> data{37};
    embedding_forward<TypeParam>(test_stream(), row(data.tokens), {}, matrix(data.table, vocab, 37), 0, vocab,
                                 {}, {}, matrix(data.out, data.rows, 37));

    EXPECT_EQ(doubles(data.out), reference::lookup(data.tokens, doubles(data.table), 37));
}

TYPED_TEST(Embedding, MultipliesRowsOfTheTokenTableByTheFactor) {
    constexpr float factor = 12.3f;
    for (const std::int64_t width : {1, 37, 129, 300, 304}) {
        Data<TypeParam> data{width};
        const auto columns = static_cast<std::size_t>(width);
        std::vector<TypeParam> scaled_table;
        for (const auto value : data.table) {
            scaled_table.push_back(TypeParam(float(value) * factor));
        }
        const auto expected = reference::lookup(data.tokens, doubles(scaled_table), columns);
        const auto positions = reference::lookup(data.positions, doubles(data.position_table), columns);
        auto sums = expected;
        for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] = double(float(TypeParam(float(expected[i]) + float(positions[i]))));
        }

        data.forward({}, factor);
        EXPECT_EQ(doubles(data.out), sums) << width;

        embedding_forward<TypeParam>(test_stream(), row(data.tokens), {}, matrix(data.table, vocab, width), 0,
                                     vocab, {}, {}, matrix(data.out, data.rows, width), factor);
        EXPECT_EQ(doubles(data.out), expected) << width;
    }
}

TYPED_TEST(Embedding, SlicesOfTheTableAddUpToTheLookup) {
    constexpr std::int64_t width = 37;
    constexpr std::int64_t cut = 9;
    for (const float probability : {0.0f, 0.3f}) {
        Data<TypeParam> whole{width};
        const auto dropout = whole.dropout(probability);
        whole.forward(dropout);
        whole.backward(test_stream(), dropout, Accumulate::no, Accumulate::no);

        std::vector<double> sum(whole.out.size());
        std::vector<float> d_table;
        for (const auto& [first, end] : {std::pair<std::int64_t, std::int64_t>{0, cut}, {cut, vocab}}) {
            Data<TypeParam> slice{width};
            const auto of_slice = slice.dropout(probability);
            const auto rows = end - first;
            auto positions = matrix(slice.position_table, sequence, width);
            if (first > 0) {
                positions = {};  // only the first slice adds them
            }
            embedding_forward<TypeParam>(test_stream(), row(slice.tokens), row(slice.positions),
                                         {slice.table.data() + first * width, {rows, width}}, first, vocab,
                                         {positions.data, {positions.extent(0), positions.extent(1)}},
                                         of_slice, matrix(slice.out, slice.rows, width));
            std::vector<float> part(static_cast<std::size_t>(rows * width));
            embedding_backward<TypeParam>(
                test_stream(), row(slice.tokens), {}, matrix(slice.d_out, slice.rows, width), of_slice,
                matrix(part, rows, width), first, vocab, Accumulate::no, {}, Accumulate::no);
            d_table.insert(d_table.end(), part.begin(), part.end());
            const auto values = doubles(slice.out);
            for (std::size_t i = 0; i < sum.size(); ++i) {
                sum[i] += values[i];
            }
        }

        EXPECT_LT(relative_error(whole.out, sum), bound<TypeParam>);
        EXPECT_EQ(d_table, whole.d_table);
    }
}

TYPED_TEST(Embedding, ByTilesOfTheTableHasTheBitsOfTheWhole) {
    constexpr std::int64_t width = 37;
    for (const auto& [probability, factor] : {std::pair{0.0f, 1.0f}, {0.3f, 1.0f}, {0.3f, 12.3f}}) {
        Data<TypeParam> whole{width};
        auto tiled = whole;
        const auto dropout = whole.dropout(probability);
        whole.forward(dropout, factor);
        whole.backward(test_stream(), dropout, Accumulate::yes, Accumulate::no);

        const auto tiled_dropout = tiled.dropout(probability);
        for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 8}, {8, 16}, {16, vocab}}) {
            const auto at = begin * width;
            embedding_tile_forward<TypeParam>(test_stream(), row(tiled.tokens),
                                              {tiled.table.data() + at, {end - begin, width}}, begin,
                                              matrix(tiled.out, tiled.rows, width), factor);
            embedding_tile_backward<TypeParam>(
                test_stream(), row(tiled.tokens), begin, matrix(tiled.d_out, tiled.rows, width),
                tiled_dropout, {tiled.d_table.data() + at, {end - begin, width}}, Accumulate::yes);
        }
        embedding_positions_forward<TypeParam>(test_stream(), row(tiled.positions),
                                               matrix(tiled.position_table, sequence, width), tiled_dropout,
                                               matrix(tiled.out, tiled.rows, width));
        embedding_tile_backward<TypeParam>(test_stream(), row(tiled.positions), 0,
                                           matrix(tiled.d_out, tiled.rows, width), tiled_dropout,
                                           matrix(tiled.d_position_table, sequence, width), Accumulate::no);

        EXPECT_EQ(doubles(tiled.out), doubles(whole.out));
        EXPECT_EQ(tiled.d_table, whole.d_table);
        EXPECT_EQ(tiled.d_position_table, whole.d_position_table);
    }
}

TYPED_TEST(Embedding, DropsByTheChannelsOfTheModelIfOtherRanksHaveTheRestOfARow) {
    constexpr std::int64_t width = 37;
    Data<TypeParam> whole{width};
    whole.forward(whole.dropout(0.3f));
    whole.backward(test_stream(), whole.dropout(0.3f), Accumulate::yes, Accumulate::no);
    for (const std::int64_t first : {4, 6, 17}) {
        const auto columns = [&](const auto& values) {
            auto part = values;
            part.clear();
            for (std::int64_t i = 0; i < std::ssize(values); ++i) {
                if (i % width >= first) {
                    part.push_back(values[static_cast<std::size_t>(i)]);
                }
            }
            return part;
        };
        const Data<TypeParam> original{width};
        Data<TypeParam> part{width - first};
        part.table = columns(original.table);
        part.position_table = columns(original.position_table);
        part.d_out = columns(original.d_out);
        part.d_table = columns(original.d_table);
        auto dropout = part.dropout(0.3f);
        dropout.first_channel = first;
        part.forward(dropout);
        part.backward(test_stream(), dropout, Accumulate::yes, Accumulate::no);

        EXPECT_TRUE(same_bits(part.out, columns(whole.out))) << first;
        EXPECT_TRUE(same_bits(part.d_table, columns(whole.d_table))) << first;
        EXPECT_TRUE(same_bits(part.d_position_table, columns(whole.d_position_table))) << first;
    }
}

TYPED_TEST(Embedding, BackwardAddsToTheTables) {
    for (const std::int64_t width : {1, 37, 129, 300}) {
        Data<TypeParam> data{width};
        const auto columns = static_cast<std::size_t>(width);
        auto expected = doubles(data.d_table);
        auto expected_positions = doubles(data.d_position_table);
        reference::scatter_add(data.tokens, doubles(data.d_out), columns, expected);
        reference::scatter_add(data.positions, doubles(data.d_out), columns, expected_positions);

        data.backward(test_stream(), {}, Accumulate::yes, Accumulate::yes);

        EXPECT_LT(relative_error(data.d_table, expected), 1e-6);
        EXPECT_LT(relative_error(data.d_position_table, expected_positions), 1e-6);
    }
}

/// More tokens than a GPU lists at a time, with rows of many, few, distant, and single occurrences.
TYPED_TEST(Embedding, BackwardAddsManyRows) {
    constexpr std::int64_t rows = 9100;
    constexpr std::int64_t cut = 3;  // rows of the table in its first part
    std::vector<std::int32_t> tokens;
    for (std::int32_t r = 0; r < rows; ++r) {
        tokens.push_back(r % 97 == 60 ? 2 : 4);
    }
    tokens[300] = tokens[7000] = 9;
    tokens.back() = 7;
    for (const std::int64_t width : {5, 300}) {
        auto d_out = normal_values<TypeParam>(rows * width, 1);
        auto d_table = normal_values<float>(vocab * width, 2);
        std::vector<float> first{d_table.begin(), d_table.begin() + cut * width};
        std::vector<float> second{d_table.begin() + cut * width, d_table.end()};
        auto expected = doubles(d_table);
        reference::scatter_add(tokens, doubles(d_out), static_cast<std::size_t>(width), expected);
        auto in_order = d_table;
        for (std::int64_t i = 0; i < rows * width; ++i) {
            const auto token = tokens[static_cast<std::size_t>(i / width)];
            in_order[static_cast<std::size_t>(token * width + i % width)] +=
                float(d_out[static_cast<std::size_t>(i)]);
        }
        const auto add_to = [&](std::vector<float>& part, std::int64_t first_row) {
            embedding_tile_backward<TypeParam>(
                test_stream(), row(tokens), first_row, matrix(d_out, rows, width), {},
                matrix(part, std::ssize(part) / width, width), Accumulate::yes, 1);
        };

        add_to(d_table, 0);
        add_to(first, 0);
        add_to(second, cut);

        if (tests_on_cuda()) {  // a GPU adds many occurrences of a row in parts
            EXPECT_LT(relative_error(d_table, expected), 1e-6) << width;
        } else {
            EXPECT_EQ(d_table, in_order) << width;
        }
        first.insert(first.end(), second.begin(), second.end());
        EXPECT_TRUE(same_bits(first, d_table)) << width;
    }
}

TYPED_TEST(Embedding, BackwardZeroesTheTableThatIsNotAddedTo) {
    Data<TypeParam> data{37};
    auto tied = doubles(data.d_table);
    std::vector<double> fresh(data.d_position_table.size());
    reference::scatter_add(data.tokens, doubles(data.d_out), 37, tied);
    reference::scatter_add(data.positions, doubles(data.d_out), 37, fresh);

    data.backward(test_stream(), {}, Accumulate::yes, Accumulate::no);

    EXPECT_LT(relative_error(data.d_table, tied), 1e-6);
    EXPECT_LT(relative_error(data.d_position_table, fresh), 1e-6);
}

TYPED_TEST(Embedding, BackwardScalesWhatTheTokenTableGets) {
    constexpr std::int64_t width = 37;
    for (const float probability : {0.0f, 0.3f}) {
        Data<TypeParam> plain{width};
        auto scaled = plain;
        auto tiled = plain;
        plain.backward(test_stream(), plain.dropout(probability), Accumulate::no, Accumulate::no);
        embedding_backward<TypeParam>(test_stream(), row(scaled.tokens), row(scaled.positions),
                                      matrix(scaled.d_out, scaled.rows, width), scaled.dropout(probability),
                                      matrix(scaled.d_table, vocab, width), 0, vocab, Accumulate::no,
                                      matrix(scaled.d_position_table, sequence, width), Accumulate::no,
                                      0.25f);
        embedding_tile_backward<TypeParam>(test_stream(), row(tiled.tokens), 0,
                                           matrix(tiled.d_out, tiled.rows, width), tiled.dropout(probability),
                                           matrix(tiled.d_table, vocab, width), Accumulate::no, 0.25f);

        auto expected = plain.d_table;
        for (auto& value : expected) {
            value *= 0.25f;  // exact, so that the sums are scaled too
        }
        EXPECT_EQ(scaled.d_table, expected);
        EXPECT_EQ(tiled.d_table, expected);
        EXPECT_EQ(scaled.d_position_table, plain.d_position_table);
    }
}

TYPED_TEST(Embedding, BackwardLeavesAFrozenTableOut) {
    Data<TypeParam> both{37};
    Data<TypeParam> tokens_only{37};
    Data<TypeParam> positions_only{37};
    tokens_only.d_position_table.clear();
    positions_only.d_table.clear();
    for (auto* data : {&both, &tokens_only, &positions_only}) {
        data->backward(test_stream(), {}, Accumulate::no, Accumulate::no);
    }

    EXPECT_EQ(tokens_only.d_table, both.d_table);
    EXPECT_EQ(positions_only.d_position_table, both.d_position_table);
}

TYPED_TEST(Embedding, DropsTheSameForwardAndBackward) {
    Data<TypeParam> data{300};
    data.forward({});
    auto expected = data.out;
    auto kept = data.d_out;
    dropout_backward<TypeParam>(test_stream(), matrix(expected, data.rows, 300), data.dropout(0.25f),
                                matrix(expected, data.rows, 300));
    std::vector<float> kept_float;
    Data<float> plain{300};
    for (std::size_t i = 0; i < kept.size(); ++i) {
        plain.d_out[i] = float(kept[i]);
    }
    dropout_backward<float>(test_stream(), matrix(plain.d_out, data.rows, 300), data.dropout(0.25f),
                            matrix(plain.d_out, data.rows, 300));

    data.forward(data.dropout(0.25f));
    data.backward(test_stream(), data.dropout(0.25f), Accumulate::no, Accumulate::no);
    plain.backward(test_stream(), {}, Accumulate::no, Accumulate::no);

    EXPECT_TRUE(same_bits(data.out, expected));
    EXPECT_TRUE(same_bits(data.d_table, plain.d_table));
    EXPECT_TRUE(same_bits(data.d_position_table, plain.d_position_table));
}

TYPED_TEST(Embedding, HasTheSameBitsForAnyNumberOfThreads) {
    Data<TypeParam> two{300};
    Data<TypeParam> one{300};
    Data<TypeParam> many{300};
    two.backward(test_stream(), two.dropout(0.25f), Accumulate::no, Accumulate::no);
    many.backward(device::Stream{7}, many.dropout(0.25f), Accumulate::no, Accumulate::no);
    on_one_thread([&](const device::Stream& stream) {
        one.backward(stream, one.dropout(0.25f), Accumulate::no, Accumulate::no);
    });

    EXPECT_TRUE(same_bits(one.d_table, two.d_table));
    EXPECT_TRUE(same_bits(many.d_table, two.d_table));
    EXPECT_TRUE(same_bits(many.d_position_table, two.d_position_table));
}

TEST(EmbeddingFloat, OnAGpuIndicesOutsideTheTablesMakeTheirRowsNan) {
    if (!tests_on_cuda()) {
        GTEST_SKIP() << "the host refuses them";
    }
    Data<float> data{4};
    data.tokens[3] = vocab;
    data.tokens[7] = -1;
    data.positions[9] = sequence;
    data.forward({});
    for (std::int64_t r = 0; r < data.rows; ++r) {
        const bool is_outside = r == 3 || r == 7 || r == 9;
        EXPECT_EQ(std::isnan(data.out[static_cast<std::size_t>(4 * r)]), is_outside) << r;
    }
    auto expected = data.d_table;
    data.backward(test_stream(), {}, Accumulate::yes, Accumulate::yes);
    for (std::int64_t r = 0; r < data.rows; ++r) {
        const auto token = data.tokens[static_cast<std::size_t>(r)];
        if (token >= 0 && token < vocab) {
            expected[static_cast<std::size_t>(4 * token)] += data.d_out[static_cast<std::size_t>(4 * r)];
        }
    }
    EXPECT_EQ(data.d_table[4 * 12], expected[4 * 12]);
}

TEST(EmbeddingFloat, RefusesIndicesOutsideTheTables) {
    ZG_SKIP_ON_CUDA();
    for (const std::int32_t token : {-1, std::int32_t{vocab}}) {
        Data<float> data{37};
        data.tokens[5] = token;
        EXPECT_THROW(data.forward({}), Error);
        EXPECT_THROW(data.backward(test_stream(), {}, Accumulate::yes, Accumulate::yes), Error);
    }
    Data<float> data{37};
    data.positions[5] = sequence;
    EXPECT_THROW(data.forward({}), Error);
}

}  // namespace
}  // namespace ziggurat::kernels
