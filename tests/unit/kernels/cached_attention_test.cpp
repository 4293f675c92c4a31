#include "kernels/cache/cached_attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "layout/cache/kv_cache.hpp"
#include "tests/unit/kernels/attention_case.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;

constexpr std::int64_t page = layout::cache_page_positions;

/// One row of a call: a token of a sequence; without a sequence it is unused.
struct Row {
    std::int64_t sequence = -1, position = 0;
};

/// Sequences of different lengths, whose tokens reach the cache in calls of any size.
template <class T>
struct CachedSequences {
    AttentionShape shape;  ///< `seq` is the length of the longest sequence, `batch` their number
    std::int64_t window;
    std::vector<T> qkv = normal_values<T>(shape.batch * shape.seq * width(), 1);
    std::int64_t pages_each = (shape.seq + page - 1) / page;
    std::vector<std::int32_t> table = std::vector<std::int32_t>(shape.batch * pages_each);
    std::vector<T> cache =
        std::vector<T>(table.size() * 2 * shape.kv_heads * page * shape.head_dim, T(std::nanf("")));
    std::vector<T> out = std::vector<T>(shape.batch * shape.seq * out_width());

    std::int64_t width() const { return (shape.heads + 2 * shape.kv_heads) * shape.head_dim; }
    std::int64_t out_width() const { return shape.heads * shape.head_dim; }

    /// Gives the sequences pages that are mixed with those of the others.
    void mix_pages() {
        for (std::size_t i = 0; i < table.size(); ++i) {
            table[i] = static_cast<std::int32_t>((i * 7 + 3) % table.size());
        }
    }

    void call(const device::Stream& stream, const std::vector<Row>& rows) {
        const auto count = std::ssize(rows);
        std::vector<T> in(count * width()), result(count * out_width(), T(7.0f));
        std::vector<std::int32_t> positions, sequences;
        for (std::int64_t r = 0; r < count; ++r) {
            const auto [sequence, position] = rows[r];
            positions.push_back(static_cast<std::int32_t>(position));
            sequences.push_back(static_cast<std::int32_t>(sequence));
            const auto from = sequence < 0 ? 0 : (sequence * shape.seq + position) * width();
            std::copy_n(qkv.begin() + from, width(), in.begin() + r * width());
        }
        auto of_call = shape;
        of_call.batch = 1;
        of_call.seq = count;
        const layout::HostWorkspaces needed{sizeof(T), stream.num_threads()};
        std::vector<std::byte> workspace(
            needed.cached_attention({1, count, shape.heads, shape.kv_heads, shape.head_dim}));
        cached_attention<T>(stream, of_call, window, matrix(in, count, width()), row(positions),
                            row(sequences),
                            tensor::TensorRef<std::int32_t, 2>{table.data(), {shape.batch, pages_each}},
                            tensor::TensorRef<T, 4>{
                                cache.data(), {std::ssize(table), 2 * shape.kv_heads, page, shape.head_dim}},
                            matrix(result, count, out_width()), workspace);
        stream.finish();
        for (std::int64_t r = 0; r < count; ++r) {
            const auto [sequence, position] = rows[r];
            const auto from = result.begin() + r * out_width();
            if (sequence >= 0) {
                std::copy_n(from, out_width(), out.begin() + (sequence * shape.seq + position) * out_width());
            } else {
                EXPECT_TRUE(std::all_of(from, from + out_width(), [](T x) { return float(x) == 0; }));
            }
        }
    }

    /// Returns the attention of whole sequences.
    std::vector<T> whole(const device::Stream& stream) {
        AttentionCase<T> of{.shape = shape, .window = window < shape.seq ? window : 0};
        of.fill();
        of.qkv = qkv;
        std::vector<T> all(out.size());
        std::vector<float> lse(shape.batch * shape.heads * shape.seq);
        std::vector<std::byte> workspace(std::size_t{64} << 20);
        attention_forward<T>(stream, shape, matrix(of.qkv, shape.batch * shape.seq, width()), row(of.starts),
                             {}, matrix(all, shape.batch * shape.seq, out_width()),
                             tensor::TensorRef<float, 3>{lse.data(), {shape.batch, shape.heads, shape.seq}},
                             workspace);
        stream.finish();
        return all;
    }
};

template <class T>
void expect_equal(const std::vector<T>& got, const std::vector<T>& expected) {
    if (!tests_on_cuda()) {
        EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span{got}), std::as_bytes(std::span{expected})));
    }
    EXPECT_LT(relative_error(got, doubles(expected)), sizeof(T) == 2 ? 6e-3 : 3e-6);
}

const AttentionShape shapes[] = {{2, 70, 4, 2, 16},          {3, 200, 2, 2, 24},
                                 {1, 700, 6, 1, 64},         {2, 130, 8, 2, 128},
                                 {1, 67, 3, 1, 80, 0, 0.3f}, {2, 90, 4, 4, 10, 0, 0, false, 1.5f}};

template <class T>
class CachedAttention : public testing::Test {};
using Types = testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(CachedAttention, Types);

TYPED_TEST(CachedAttention, TokenByTokenEqualsTheWhole) {
    for (const auto& shape : shapes) {
        for (const std::int64_t window : {0, 1, 63, 64, 66}) {
            CachedSequences<TypeParam> of{shape, window};
            of.mix_pages();
            const TestStream stream{2};
            for (std::int64_t position = 0; position < shape.seq; ++position) {
                std::vector<Row> rows;
                for (std::int64_t sequence = 0; sequence < shape.batch; ++sequence) {
                    // Sequence s begins s tokens later.
                    const auto own = position - sequence;
                    rows.push_back(own < 0 ? Row{} : Row{sequence, own});
                }
                of.call(stream, rows);
            }
            for (std::int64_t sequence = 1; sequence < shape.batch; ++sequence) {
                for (auto own = shape.seq - sequence; own < shape.seq; ++own) {
                    of.call(stream, {{sequence, own}});
                }
            }
            SCOPED_TRACE(testing::Message() << "seq " << shape.seq << ", window " << window);
            expect_equal(of.out, of.whole(stream));
        }
    }
}

TYPED_TEST(CachedAttention, RunsOfAnyLengthEqualTheWhole) {
    for (const auto& shape : shapes) {
        for (const std::int64_t window : {0, 65}) {
            CachedSequences<TypeParam> of{shape, window};
            of.mix_pages();
            const TestStream stream{2};
            std::vector<std::int64_t> done(shape.batch);
            for (std::int64_t call = 0; *std::ranges::min_element(done) < shape.seq; ++call) {
                std::vector<Row> rows;
                for (std::int64_t sequence = 0; sequence < shape.batch; ++sequence) {
                    const auto more =
                        std::min(shape.seq - done[sequence], 1 + (call * 37 + sequence * 11) % 101);
                    for (std::int64_t i = 0; i < more; ++i) {
                        rows.push_back({sequence, done[sequence]++});
                    }
                    rows.emplace_back();
                }
                of.call(stream, rows);
            }
            SCOPED_TRACE(testing::Message() << "seq " << shape.seq << ", window " << window);
            expect_equal(of.out, of.whole(stream));
        }
    }
}

TEST(CachedAttentionRows, WithoutAPageAreRejected) {
    if (tests_on_cuda()) {
        GTEST_SKIP() << "a GPU writes NaN instead";
    }
    CachedSequences<float> of{{1, 70, 2, 1, 16}, 0};
    of.mix_pages();
    of.table[1] = -1;
    const TestStream stream{1};
    of.call(stream, {{0, 0}});
    EXPECT_THROW(of.call(stream, {{0, 64}}), Error);
    EXPECT_THROW(of.call(stream, {{1, 0}}), Error);
    EXPECT_THROW(of.call(stream, {{0, 128}}), Error);
}

}  // namespace
}  // namespace ziggurat::kernels
