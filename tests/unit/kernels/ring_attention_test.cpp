#include "kernels/context/ring_attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "tests/unit/kernels/attention_checks.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::TensorRef;

template <class T>
TensorRef<T, 2> rows_of(std::vector<T>& values, std::int64_t width) {
    return {values.data(), {std::ssize(values) / width, width}};
}

/// Attention of all ranks of a ring in one process, one round after another.
///
/// Its functions have the arguments and results of attention_forward and attention_backward.
template <class T>
class Ring {
  public:
    Ring(int ranks, const device::Stream& stream, const AttentionShape& shape, std::int64_t window)
        : ranks_{ranks},
          stream_{stream},
          shape_{shape},
          plan_{ranks, ranks, shape.seq, window},
          block_{shape.seq / (2 * ranks)},
          out_width_{shape.heads * shape.head_dim},
          kv_width_{2 * shape.kv_heads * shape.head_dim},
          workspace_(static_cast<std::size_t>(workspace_bytes()), std::byte{0xff}) {}

    void forward(TensorAddress<const T, 2> qkv,
                 VectorAddress<const std::int32_t> starts,
                 const Dropout& dropout,
                 TensorAddress<T, 2> out,
                 TensorAddress<float, 3> lse) {
        for (int rank = 0; rank < ranks_; ++rank) {
            auto own = of_rank(qkv, rank);
            std::vector<float> merged(own_elements(out_width_), NAN);
            std::vector<float> own_lse(own_elements(shape_.heads), NAN);
            std::vector<T> own_out(own_elements(out_width_), T(NAN));
            for (int hop = 0; hop < ranks_; ++hop) {
                const auto round = plan_.round(rank, plan_.owner_of(rank, 0, hop));
                auto kv = keys_of(qkv, rank, hop);
                ring_attention_forward<T>(
                    stream_, shape_, round, rows_of(own, qkv.extent(1)), rows_of(kv, kv_width_), starts,
                    dropout, rows_of(merged, out_width_), lse_of(own_lse),
                    hop + 1 == ranks_ ? rows_of(own_out, out_width_) : TensorRef<T, 2>{}, workspace_);
                stream_.finish();
            }
            to_whole(own_out, rank, out);
            exchange_lse(own_lse, rank, lse, [](float& one, float& other) { other = one; });
        }
    }

    void backward(TensorAddress<const T, 2> qkv,
                  VectorAddress<const std::int32_t> starts,
                  const Dropout& dropout,
                  TensorAddress<const T, 2> out,
                  TensorAddress<const T, 2> d_out,
                  TensorAddress<float, 3> lse,
                  TensorAddress<T, 2> d_qkv) {
        std::vector<std::vector<float>> d_q, d_kv;
        for (int rank = 0; rank < ranks_; ++rank) {
            d_q.emplace_back(own_elements(out_width_), NAN);
            d_kv.emplace_back(own_elements(kv_width_), NAN);
        }
        for (int hop = 0; hop < ranks_; ++hop) {
            for (int rank = 0; rank < ranks_; ++rank) {
                auto own = of_rank(qkv, rank);
                auto own_out = of_rank(out, rank);
                auto own_d_out = of_rank(d_out, rank);
                std::vector<float> own_lse(own_elements(shape_.heads));
                exchange_lse(own_lse, rank, lse, [](float& one, float& other) { one = other; });
                const int owner = plan_.owner_of(rank, 0, hop);
                const auto round = plan_.round(rank, owner);
                auto kv = keys_of(qkv, rank, hop);
                auto& sums = d_kv[static_cast<std::size_t>(owner)];
                const auto [first, count] = part_of_own(owner, round.keys);
                std::vector<float> travelling(sums.begin() + first, sums.begin() + first + count);
                ring_attention_backward<T>(stream_, shape_, round, rows_of(own, qkv.extent(1)),
                                           rows_of(kv, kv_width_), starts, dropout,
                                           rows_of(own_out, out_width_), rows_of(own_d_out, out_width_),
                                           lse_of(own_lse), hop == 0 ? Accumulate::no : Accumulate::yes,
                                           rows_of(d_q[static_cast<std::size_t>(rank)], out_width_),
                                           rows_of(travelling, kv_width_), workspace_);
                stream_.finish();
                std::ranges::copy(travelling, sums.begin() + first);
            }
        }
        for (int rank = 0; rank < ranks_; ++rank) {
            std::vector<T> joined(own_elements(qkv.extent(1)));
            join_ring_gradients<T>(stream_, shape_, rows_of(d_q[static_cast<std::size_t>(rank)], out_width_),
                                   rows_of(d_kv[static_cast<std::size_t>(rank)], kv_width_),
                                   rows_of(joined, qkv.extent(1)));
            stream_.finish();
            to_whole(joined, rank, d_qkv);
        }
    }

  private:
    std::int64_t workspace_bytes() const {
        const layout::CudaWorkspaces on_gpus{{.is_bfloat16 = sizeof(T) == 2, .is_ring = true}};
        return std::max(
            layout::HostWorkspaces{sizeof(T), stream_.num_threads()}.attention(block_, shape_.head_dim),
            on_gpus.attention_backward(
                {shape_.batch, block_, shape_.heads, shape_.kv_heads, shape_.head_dim}));
    }
    std::size_t own_elements(std::int64_t width) const {
        return static_cast<std::size_t>(shape_.batch * 2 * block_ * width);
    }
    TensorRef<float, 3> lse_of(std::vector<float>& values) const {
        return {values.data(), {shape_.batch, shape_.heads, 2 * block_}};
    }
    /// Calls action(row of the rank, row of all) for each row of a rank.
    template <class Action>
    void for_each_row(int rank, const Action& action) const {
        const auto own = plan_.blocks_of(rank);
        for (std::int64_t row = 0; row < shape_.batch * 2 * block_; ++row) {
            const auto block = own.index[static_cast<std::size_t>(row / block_ % 2)];
            action(row, row / (2 * block_) * shape_.seq + block * block_ + row % block_);
        }
    }
    std::vector<T> of_rank(TensorAddress<const T, 2> whole, int rank) const {
        const auto width = whole.extent(1);
        const auto* from = ArgumentTranslator{}(whole).first;
        std::vector<T> own(own_elements(width));
        for_each_row(rank, [&](auto row, auto of_all) {
            std::copy_n(from + of_all * width, width, own.begin() + row * width);
        });
        return own;
    }
    void to_whole(const std::vector<T>& own, int rank, TensorAddress<T, 2> whole) const {
        const auto width = whole.extent(1);
        auto* to = ArgumentTranslator{}(whole).first;
        for_each_row(rank, [&](auto row, auto of_all) {
            std::copy_n(own.begin() + row * width, width, to + of_all * width);
        });
    }
    template <class Action>
    void exchange_lse(std::vector<float>& own,
                      int rank,
                      TensorAddress<float, 3> whole,
                      const Action& action) {
        auto* all = ArgumentTranslator{}(whole).first;
        for (std::int64_t head = 0; head < shape_.heads; ++head) {
            for_each_row(rank, [&](auto row, auto of_all) {
                const auto batch = row / (2 * block_);
                const auto at = (batch * shape_.heads + head) * 2 * block_ + row % (2 * block_);
                action(own[static_cast<std::size_t>(at)],
                       all[(batch * shape_.heads + head) * shape_.seq + of_all % shape_.seq]);
            });
        }
    }
    /// Returns the first element and the number of elements of blocks in the owner's kv.
    std::pair<std::int64_t, std::int64_t> part_of_own(int owner, const layout::RingBlocks& blocks) const {
        const auto size = shape_.batch * block_ * kv_width_;
        const bool begins_later = blocks.count > 0 && blocks.index[0] != plan_.blocks_of(owner).index[0];
        return {begins_later ? size : 0, blocks.count * size};
    }
    /// Returns the keys and values that a rank has in a round.
    std::vector<T> keys_of(TensorAddress<const T, 2> qkv, int rank, int hop) {
        const int owner = plan_.owner_of(rank, 0, hop);
        auto rows = of_rank(qkv, owner);
        std::vector<T> kv(own_elements(kv_width_));
        pack_ring_keys<T>(stream_, shape_, rows_of(rows, qkv.extent(1)), rows_of(kv, kv_width_));
        stream_.finish();
        const auto [first, count] = part_of_own(owner, plan_.round(rank, owner).keys);
        return {kv.begin() + first, kv.begin() + first + count};
    }

    int ranks_;
    device::Stream stream_;
    AttentionShape shape_;
    layout::RingPlan plan_;
    std::int64_t block_, out_width_, kv_width_;
    std::vector<std::byte> workspace_;
};

/// \param window  maximum number of keys that the rounds know; 0: all before a query
template <class T>
test::Attention<T> on_a_ring(int ranks, std::int64_t window) {
    return {[=](const device::Stream& stream, const AttentionShape& shape, auto qkv, auto starts,
                const Dropout& dropout, auto out, auto lse, auto) {
                Ring<T>{ranks, stream, shape, window}.forward(qkv, starts, dropout, out, lse);
            },
            [=](const device::Stream& stream, const AttentionShape& shape, auto qkv, auto starts,
                const Dropout& dropout, auto out, auto d_out, TensorAddress<const float, 3> lse, auto d_qkv,
                auto) {
                const auto* first = ArgumentTranslator{}(lse).first;
                std::vector<float> copy(first, first + lse.size());
                Ring<T>{ranks, stream, shape, window}.backward(
                    qkv, starts, dropout, out, d_out, TensorRef<float, 3>{copy.data(), lse.extents()}, d_qkv);
            }};
}

/// Returns calls with sequences of 2 * ranks blocks.
///
/// They vary the length of blocks near the sizes of tiles, head dimensions, groups, documents that cross
/// blocks, windows below and above a block, dropout and caps.
template <class T>
std::vector<test::AttentionCase<T>> ring_cases(int ranks) {
    const auto of = [&](std::int64_t block) { return 2 * ranks * block; };
    std::vector<test::AttentionCase<T>> cases;
    for (const std::int64_t block : {1, 2, 3, 7, 32, 33, 63, 64, 65, 97, 130}) {
        cases.push_back({.shape = {1, of(block), 2, 2, 64}});
    }
    cases.push_back({.shape = {1, of(521), 1, 1, 8}});
    for (const std::int64_t head_dim : {1, 3, 17, 64, 80, 128, 255}) {
        cases.push_back({.shape = {2, of(11), 1, 1, head_dim}});
    }
    cases.push_back({.shape = {2, of(37), 6, 2, 32}});
    for (const std::int64_t document : {1, 5, 31, 64, 100}) {
        cases.push_back({.shape = {2, of(35), 2, 1, 32}, .document = document});
    }
    cases.push_back({.shape = {1, of(150), 2, 1, 32}, .document = 333});
    for (const std::int64_t window : {1, 2, 13, 35, 36, 37, 64, 100}) {
        cases.push_back({.shape = {2, of(35), 2, 1, 32}, .window = window});
    }
    cases.push_back({.shape = {1, of(131), 2, 1, 16}, .document = 40, .window = 33});
    for (const std::int64_t block : {5, 6, 7, 64}) {
        cases.push_back({.shape = {2, of(block), 4, 2, 32, 3}, .document = 30, .probability = 0.3f});
    }
    cases.push_back({.shape = {1, of(67), 4, 2, 40, 0, 0.3f}, .spread = 3});
    cases.push_back({.shape = {1, of(67), 4, 2, 40, 3, 0.3f, false, 4.0f}, .probability = 0.2f, .spread = 2});
    for (auto& c : cases) {
        c.is_ring = true;
        c.fill();
    }
    return cases;
}

template <class T>
class RingAttention : public ::testing::Test {};
using ComputeTypes = ::testing::Types<float, tensor::bfloat16>;
TYPED_TEST_SUITE(RingAttention, ComputeTypes);

TYPED_TEST(RingAttention, IsTheSoftmaxOfTheReferenceAndItsGradient) {
    // Two ranks have rounds with one and with two blocks of keys; more take minutes on emulated GPUs.
    const auto sizes = test::tests_on_cuda() ? std::vector{2} : std::vector{1, 2, 3};
    for (const int ranks : sizes) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks");
        for (auto& c : ring_cases<TypeParam>(ranks)) {
            test::expect_reference(on_a_ring<TypeParam>(ranks, c.window), c);
        }
    }
}

TYPED_TEST(RingAttention, HasTheSameBitsForAnyNumberOfThreads) {
    test::AttentionCase<TypeParam> c{.shape = {3, 132, 6, 3, 40}, .document = 50, .probability = 0.2f};
    test::expect_same_bits_for_any_threads(on_a_ring<TypeParam>(2, 0), c);
}

TYPED_TEST(RingAttention, RefusesAWorkspaceThatIsTooSmall) {
    if (test::tests_on_cuda()) {
        GTEST_SKIP() << "forward on GPUs has no workspace";
    }
    const AttentionShape shape{1, 8, 1, 1, 4};
    const layout::RingPlan plan{2, 2, 8, 0};
    std::vector<TypeParam> qkv(4 * 12), kv(4 * 8), out(4 * 4);
    std::vector<float> merged(4 * 4), lse(4);
    std::vector<std::byte> workspace(64);

    EXPECT_THROW(ring_attention_forward<TypeParam>(
                     test::TestStream{1}, shape, plan.round(0, 0), rows_of(qkv, 12), rows_of(kv, 8),
                     VectorAddress<const std::int32_t>{}, Dropout{}, rows_of(merged, 4),
                     TensorRef<float, 3>{lse.data(), {1, 1, 4}}, rows_of(out, 4), workspace),
                 Error);
}

}  // namespace
}  // namespace ziggurat::kernels
