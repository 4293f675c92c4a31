#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "comm/abort_flag.hpp"
#include "comm/idle_wait.hpp"
#include "comm/mpi_collectives.hpp"
#include "tests/mpi/numbered_vectors.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::comm {
namespace {

using tensor::bfloat16;
using namespace ziggurat::test;

const AbortFlag never;

template <class T>
class CollectivesOf : public ::testing::Test {
  protected:
    int size() const { return collectives.size(); }
    int rank() const { return collectives.rank(); }
    std::size_t me() const { return static_cast<std::size_t>(rank()); }

    /// Prepares and runs the call.
    void run(CollectiveCall call) {
        const int id = collectives.prepare(std::move(call));
        collectives.start(id);
        wait(collectives, id, never);
    }

    MpiCollectives collectives{world()};
};

using ElementTypes = ::testing::Types<float, bfloat16>;
TYPED_TEST_SUITE(CollectivesOf, ElementTypes);

// 40,000 elements make blocks of up to several pieces; 5 are less than one vector.
constexpr std::int64_t units[] = {0, 1, 5, 1023, 40'000};

template <class T>
void expect_sums(const T* sums, const Block& block, int members, int sum_group) {
    const auto first = block.offset_bytes / static_cast<std::int64_t>(sizeof(T));
    const auto count = block.bytes / static_cast<std::int64_t>(sizeof(T));
    for (std::int64_t i = 0; i < count; ++i) {
        const T want = expected_sum<T>(members, sum_group, first + i, ragged);
        ASSERT_EQ(0, std::memcmp(&sums[i], &want, sizeof(T)))
            << "element " << i << " of " << count << ", sum_group " << sum_group;
    }
}

TYPED_TEST(CollectivesOf, ReduceScatterGivesEachItsBlockSummedInRankOrder) {
    for (const int sum_group : {0, 1, 2, 3}) {
        for (const auto unit : units) {
            const auto blocks = uneven_blocks<TypeParam>(this->size(), unit);
            const auto input = filled<TypeParam>(elements_of<TypeParam>(blocks), this->rank(), ragged);
            const Block own = blocks[this->me()];
            std::vector<TypeParam> shard(static_cast<std::size_t>(own.bytes) / sizeof(TypeParam) + 1,
                                         TypeParam{-7.0f});

            this->run({.kind = CollectiveKind::reduce_scatter,
                       .type = dtype_of<TypeParam>,
                       .input = bytes(input),
                       .output = bytes(shard),
                       .blocks = blocks,
                       .sum_group = sum_group,
                       .label = "shard"});

            expect_sums(shard.data(), own, this->size(), sum_group);
            EXPECT_EQ(-7.0f, static_cast<float>(shard.back())) << "wrote past its block";
        }
    }
}

TYPED_TEST(CollectivesOf, ReduceScatterInPlaceLeavesOtherBlocksAlone) {
    for (const auto unit : units) {
        const auto blocks = uneven_blocks<TypeParam>(this->size(), unit);
        auto vector = filled<TypeParam>(elements_of<TypeParam>(blocks), this->rank(), ragged);
        const auto before = vector;
        const Block own = blocks[this->me()];

        this->run({.kind = CollectiveKind::reduce_scatter,
                   .type = dtype_of<TypeParam>,
                   .input = bytes(vector),
                   .output = bytes(vector),
                   .output_offset_bytes = own.offset_bytes,
                   .blocks = blocks,
                   .label = "in place"});

        const auto first = static_cast<std::size_t>(own.offset_bytes) / sizeof(TypeParam);
        const auto last = static_cast<std::size_t>(own.end()) / sizeof(TypeParam);
        expect_sums(vector.data() + first, own, this->size(), 0);
        for (std::size_t i = 0; i < vector.size(); ++i) {
            if (i < first || i >= last) {
                ASSERT_EQ(before[i], vector[i]) << "element " << i << " is another's";
            }
        }
    }
}

TYPED_TEST(CollectivesOf, AllReduceGivesAllTheSameSums) {
    for (const bool in_place : {false, true}) {
        for (const int sum_group : {0, 2, 3}) {
            for (const auto unit : units) {
                const auto blocks = uneven_blocks<TypeParam>(this->size(), unit);
                auto input = filled<TypeParam>(elements_of<TypeParam>(blocks), this->rank(), ragged);
                std::vector<TypeParam> apart(input.size());
                auto& output = in_place ? input : apart;

                this->run({.kind = CollectiveKind::all_reduce,
                           .type = dtype_of<TypeParam>,
                           .input = bytes(input),
                           .output = bytes(output),
                           .blocks = blocks,
                           .sum_group = sum_group,
                           .label = "sums"});

                expect_sums(output.data(), {0, blocks.back().end()}, this->size(), sum_group);
            }
        }
    }
}

TYPED_TEST(CollectivesOf, AllGatherPutsEachBlockInItsPlace) {
    for (const bool in_place : {false, true}) {
        for (const auto unit : units) {
            const auto blocks = uneven_blocks<TypeParam>(this->size(), unit);
            const Block own = blocks[this->me()];
            const auto whole = filled<TypeParam>(elements_of<TypeParam>(blocks), 3, ragged);
            std::vector<TypeParam> output(whole.size());
            if (own.bytes > 0) {
                std::memcpy(bytes(output) + own.offset_bytes, bytes(whole) + own.offset_bytes,
                            static_cast<std::size_t>(own.bytes));
            }
            const std::vector<TypeParam> shard(
                whole.begin() + own.offset_bytes / std::int64_t{sizeof(TypeParam)},
                whole.begin() + own.end() / std::int64_t{sizeof(TypeParam)});

            this->run({.kind = CollectiveKind::all_gather,
                       .type = dtype_of<TypeParam>,
                       .input = in_place ? bytes(output) : bytes(shard),
                       .output = bytes(output),
                       .input_offset_bytes = in_place ? own.offset_bytes : 0,
                       .blocks = blocks,
                       .label = "gather"});

            EXPECT_EQ(whole, output);
        }
    }
}

using CollectivesOfFloats = CollectivesOf<float>;

TEST_F(CollectivesOfFloats, BlocksMayLeaveGapsWhichNobodyTouches) {
    std::vector<Block> blocks;
    for (int m = 0; m < size(); ++m) {
        blocks.push_back({m * 48 + 16, 24});
    }
    const auto input = filled<float>(size() * 12 + 4, rank(), ragged);
    std::vector<float> output(input.size(), -7.0f);

    run({.kind = CollectiveKind::all_reduce,
         .input = bytes(input),
         .output = bytes(output),
         .blocks = blocks,
         .sum_group = 2,
         .label = "gaps"});

    for (int m = 0; m < size(); ++m) {
        const Block block = blocks[static_cast<std::size_t>(m)];
        expect_sums(output.data() + block.offset_bytes / 4, block, size(), 2);
        EXPECT_EQ(-7.0f, output[static_cast<std::size_t>(block.offset_bytes / 4 - 1)]);
        EXPECT_EQ(-7.0f, output[static_cast<std::size_t>(block.end() / 4)]);
    }
}

TEST_F(CollectivesOfFloats, AllToAllTransposesBlocksOfAnySize) {
    // Member r sends (r + 2 m) % 4 * 301 elements to member m.
    const auto count = [](int from, int to) { return (from + 2 * to) % 4 * 301; };
    std::vector<Block> blocks;
    std::vector<Block> output_blocks;
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (int m = 0; m < size(); ++m) {
        blocks.push_back({sent, count(rank(), m) * 4});
        sent += blocks.back().bytes;
        output_blocks.push_back({received, count(m, rank()) * 4});
        received += output_blocks.back().bytes;
    }
    const auto input = filled<float>(sent / 4, rank(), numbered);
    std::vector<float> output(static_cast<std::size_t>(received / 4));

    run({.kind = CollectiveKind::all_to_all,
         .input = bytes(input),
         .output = bytes(output),
         .blocks = blocks,
         .output_blocks = output_blocks,
         .label = "transpose"});

    for (int from = 0; from < size(); ++from) {
        std::int64_t first = 0;  // of the block for this member, in the vector of `from`
        for (int m = 0; m < rank(); ++m) {
            first += count(from, m);
        }
        const std::int64_t at = output_blocks[static_cast<std::size_t>(from)].offset_bytes / 4;
        for (std::int64_t i = 0; i < count(from, rank()); ++i) {
            ASSERT_EQ(numbered(from, first + i), output[static_cast<std::size_t>(at + i)]) << "from " << from;
        }
    }
}

TEST_F(CollectivesOfFloats, BroadcastReachesAllFromAnyRoot) {
    for (int root = 0; root < size(); ++root) {
        auto vector = filled<float>(300'001, rank(), numbered);

        run({.kind = CollectiveKind::broadcast,
             .input = bytes(vector),
             .output = bytes(vector),
             .blocks = {{4, 300'000 * 4}},
             .peer = root,
             .label = "broadcast"});

        EXPECT_EQ(numbered(rank(), 0), vector[0]);
        EXPECT_EQ(numbered(root, 1), vector[1]);
        EXPECT_EQ(numbered(root, 300'000), vector[300'000]);
    }
}

TEST_F(CollectivesOfFloats, MessagesBetweenTwoKeepTheirTagsApart) {
    const int next = (rank() + 1) % size();
    const int previous = (rank() - 1 + size()) % size();
    if (next == rank()) {
        return;  // nobody to talk to
    }
    const auto small = filled<float>(3, rank(), numbered);
    const auto large = filled<float>(600'000, rank(), numbered);
    std::vector<float> small_in(3);
    std::vector<float> large_in(600'000);
    const auto whole = [](const std::vector<float>& v) { return std::vector<Block>{{0, std::ssize(v) * 4}}; };
    const int send_large = collectives.prepare({.kind = CollectiveKind::send,
                                                .input = bytes(large),
                                                .blocks = whole(large),
                                                .peer = next,
                                                .tag = 1,
                                                .label = "large"});
    const int send_small = collectives.prepare({.kind = CollectiveKind::send,
                                                .input = bytes(small),
                                                .blocks = whole(small),
                                                .peer = next,
                                                .tag = 0,
                                                .label = "small"});
    const int receive_small = collectives.prepare({.kind = CollectiveKind::receive,
                                                   .output = bytes(small_in),
                                                   .blocks = whole(small_in),
                                                   .peer = previous,
                                                   .tag = 0,
                                                   .label = "small"});
    const int receive_large = collectives.prepare({.kind = CollectiveKind::receive,
                                                   .output = bytes(large_in),
                                                   .blocks = whole(large_in),
                                                   .peer = previous,
                                                   .tag = 1,
                                                   .label = "large"});

    for (const int call : {send_large, send_small, receive_small, receive_large}) {
        collectives.start(call);
    }
    for (const int call : {receive_small, send_large, receive_large, send_small}) {
        wait(collectives, call, never);
    }

    EXPECT_EQ(filled<float>(3, previous, numbered), small_in);
    EXPECT_EQ(filled<float>(600'000, previous, numbered), large_in);
}

TEST_F(CollectivesOfFloats, AResultIsReadableBeforeTheInputsAreFree) {
    const auto blocks = uneven_blocks<float>(size(), 40'000);
    auto vector = filled<float>(elements_of<float>(blocks), rank(), ragged);
    const int call = collectives.prepare({.kind = CollectiveKind::all_reduce,
                                          .input = bytes(vector),
                                          .output = bytes(vector),
                                          .blocks = blocks,
                                          .label = "sums"});
    collectives.start(call);
    IdleWait idle;
    while (!collectives.has_result(call)) {
        idle.idle();
    }

    expect_sums(vector.data(), {0, blocks.back().end()}, size(), 0);
    wait(collectives, call, never);
    EXPECT_TRUE(collectives.has_result(call));
}

TEST_F(CollectivesOfFloats, AnUnlikeCallIsRefusedByAllMembers) {
    if (size() == 1) {
        return;  // one alone always agrees
    }
    std::vector<float> vector(static_cast<std::size_t>(size()) * 4);
    auto blocks = even_blocks(std::ssize(vector), 4, size(), 1);
    const int sum_group = rank() == size() - 1 ? 2 : 0;

    const auto prepare = [&] {
        collectives.prepare({.kind = CollectiveKind::all_reduce,
                             .input = bytes(vector),
                             .output = bytes(vector),
                             .blocks = blocks,
                             .sum_group = sum_group,
                             .label = "gradients"});
    };

    EXPECT_THROW(prepare(), Error);
}

}  // namespace
}  // namespace ziggurat::comm
