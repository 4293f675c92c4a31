#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "comm/backoff.hpp"
#include "comm/make_collectives.hpp"
#include "comm/mpi/mpi_collectives.hpp"
#include "comm/node/node_memory.hpp"
#include "comm/node/shared_collectives.hpp"
#include "comm/wait_context.hpp"
#include "tests/mpi/collectives/arena_vectors.hpp"
#include "tests/mpi/collectives/numbered_vectors.hpp"
#include "tests/support/even_blocks.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::comm {
namespace {

using tensor::bfloat16;
using namespace ziggurat::test;

const WaitContext unwatched;

/// Transport of the calls under test, and their element type.
template <class Element>
struct OverMpi {
    using T = Element;
    static constexpr bool is_shared = false;
};
template <class Element>
struct InSharedMemory {
    using T = Element;
    static constexpr bool is_shared = true;
};

template <class Transport>
class CollectivesOf : public ::testing::Test {
  protected:
    CollectivesOf() : node{world(), {.may_share = Transport::is_shared}}, vectors{node} {
        if constexpr (Transport::is_shared) {
            collectives = make_collectives(world().group(), node);
        } else {
            collectives = std::make_unique<MpiCollectives>(world().group());
        }
    }

    int size() const { return collectives->size(); }
    int rank() const { return collectives->rank(); }
    std::size_t me() const { return static_cast<std::size_t>(rank()); }

    /// Prepares and runs the call.
    void run(CollectiveCall call) {
        const int id = collectives->prepare(std::move(call));
        if constexpr (Transport::is_shared) {
            EXPECT_TRUE(dynamic_cast<const SharedCollectives&>(*collectives).is_shared(id));
        }
        collectives->start(id);
        wait(*collectives, id, unwatched, &node);
    }

    NodeMemory node;
    ArenaVectors vectors;
    std::unique_ptr<Collectives> collectives;
};

using Transports =
    ::testing::Types<OverMpi<float>, OverMpi<bfloat16>, InSharedMemory<float>, InSharedMemory<bfloat16>>;
TYPED_TEST_SUITE(CollectivesOf, Transports);

template <class Transport>
class CollectivesOfFloats : public CollectivesOf<Transport> {};
using FloatTransports = ::testing::Types<OverMpi<float>, InSharedMemory<float>>;
TYPED_TEST_SUITE(CollectivesOfFloats, FloatTransports);

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
    using T = typename TypeParam::T;
    for (const int sum_group : {0, 1, 2, 3}) {
        for (const auto unit : units) {
            const auto blocks = uneven_blocks<T>(this->size(), unit);
            const auto input = this->vectors(filled<T>(elements_of<T>(blocks), this->rank(), ragged));
            const Block own = blocks[this->me()];
            auto shard = this->vectors(static_cast<std::size_t>(own.bytes) / sizeof(T) + 1, T{-7.0f});

            this->run({.kind = CollectiveKind::reduce_scatter,
                       .type = dtype_of<T>,
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
    using T = typename TypeParam::T;
    for (const auto unit : units) {
        const auto blocks = uneven_blocks<T>(this->size(), unit);
        auto vector = this->vectors(filled<T>(elements_of<T>(blocks), this->rank(), ragged));
        const auto before = vector;
        const Block own = blocks[this->me()];

        this->run({.kind = CollectiveKind::reduce_scatter,
                   .type = dtype_of<T>,
                   .input = bytes(vector),
                   .output = bytes(vector),
                   .output_offset_bytes = own.offset_bytes,
                   .blocks = blocks,
                   .label = "in place"});

        const auto first = static_cast<std::size_t>(own.offset_bytes) / sizeof(T);
        const auto last = static_cast<std::size_t>(own.end()) / sizeof(T);
        expect_sums(vector.data() + first, own, this->size(), 0);
        for (std::size_t i = 0; i < vector.size(); ++i) {
            if (i < first || i >= last) {
                ASSERT_EQ(before[i], vector[i]) << "element " << i << " is another's";
            }
        }
    }
}

TYPED_TEST(CollectivesOf, AllReduceGivesAllTheSameSums) {
    using T = typename TypeParam::T;
    for (const bool in_place : {false, true}) {
        for (const int sum_group : {0, 2, 3}) {
            for (const auto unit : units) {
                const auto blocks = uneven_blocks<T>(this->size(), unit);
                auto input = this->vectors(filled<T>(elements_of<T>(blocks), this->rank(), ragged));
                auto apart = this->vectors(input.size(), T{});
                auto& output = in_place ? input : apart;

                this->run({.kind = CollectiveKind::all_reduce,
                           .type = dtype_of<T>,
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
    using T = typename TypeParam::T;
    for (const bool in_place : {false, true}) {
        for (const auto unit : units) {
            const auto blocks = uneven_blocks<T>(this->size(), unit);
            const Block own = blocks[this->me()];
            const auto whole = filled<T>(elements_of<T>(blocks), 3, ragged);
            auto output = this->vectors(whole.size(), T{});
            if (own.bytes > 0) {
                std::memcpy(bytes(output) + own.offset_bytes, bytes(whole) + own.offset_bytes,
                            static_cast<std::size_t>(own.bytes));
            }
            const auto shard =
                this->vectors(std::vector<T>(whole.begin() + own.offset_bytes / std::int64_t{sizeof(T)},
                                             whole.begin() + own.end() / std::int64_t{sizeof(T)}));

            this->run({.kind = CollectiveKind::all_gather,
                       .type = dtype_of<T>,
                       .input = in_place ? bytes(output) : bytes(shard),
                       .output = bytes(output),
                       .input_offset_bytes = in_place ? own.offset_bytes : 0,
                       .blocks = blocks,
                       .label = "gather"});

            EXPECT_TRUE(std::equal(whole.begin(), whole.end(), output.begin(), output.end()));
        }
    }
}

TYPED_TEST(CollectivesOfFloats, BlocksMayLeaveGapsWhichNobodyTouches) {
    std::vector<Block> blocks;
    for (int m = 0; m < this->size(); ++m) {
        blocks.push_back({m * 48 + 16, 24});
    }
    const auto input = this->vectors(filled<float>(this->size() * 12 + 4, this->rank(), ragged));
    auto output = this->vectors(input.size(), -7.0f);

    this->run({.kind = CollectiveKind::all_reduce,
               .input = bytes(input),
               .output = bytes(output),
               .blocks = blocks,
               .sum_group = 2,
               .label = "gaps"});

    for (int m = 0; m < this->size(); ++m) {
        const Block block = blocks[static_cast<std::size_t>(m)];
        expect_sums(output.data() + block.offset_bytes / 4, block, this->size(), 2);
        EXPECT_EQ(-7.0f, output[static_cast<std::size_t>(block.offset_bytes / 4 - 1)]);
        EXPECT_EQ(-7.0f, output[static_cast<std::size_t>(block.end() / 4)]);
    }
}

TYPED_TEST(CollectivesOfFloats, AllToAllTransposesBlocksOfAnySize) {
    // Member r sends (r + 2 m) % 4 * 301 elements to member m.
    const auto count = [](int from, int to) { return (from + 2 * to) % 4 * 301; };
    std::vector<Block> blocks;
    std::vector<Block> output_blocks;
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (int m = 0; m < this->size(); ++m) {
        blocks.push_back({sent, count(this->rank(), m) * 4});
        sent += blocks.back().bytes;
        output_blocks.push_back({received, count(m, this->rank()) * 4});
        received += output_blocks.back().bytes;
    }
    const auto input = this->vectors(filled<float>(sent / 4, this->rank(), numbered));
    auto output = this->vectors(static_cast<std::size_t>(received / 4), float{});

    this->run({.kind = CollectiveKind::all_to_all,
               .input = bytes(input),
               .output = bytes(output),
               .blocks = blocks,
               .output_blocks = output_blocks,
               .label = "transpose"});

    for (int from = 0; from < this->size(); ++from) {
        std::int64_t first = 0;  // offset of this member's block in the vector of `from`
        for (int m = 0; m < this->rank(); ++m) {
            first += count(from, m);
        }
        const std::int64_t at = output_blocks[static_cast<std::size_t>(from)].offset_bytes / 4;
        for (std::int64_t i = 0; i < count(from, this->rank()); ++i) {
            ASSERT_EQ(numbered(from, first + i), output[static_cast<std::size_t>(at + i)]) << "from " << from;
        }
    }
}

TYPED_TEST(CollectivesOfFloats, BroadcastReachesAllFromAnyRoot) {
    for (int root = 0; root < this->size(); ++root) {
        auto vector = this->vectors(filled<float>(300'001, this->rank(), numbered));

        this->run({.kind = CollectiveKind::broadcast,
                   .input = bytes(vector),
                   .output = bytes(vector),
                   .blocks = {{4, 300'000 * 4}},
                   .peer = root,
                   .label = "broadcast"});

        EXPECT_EQ(numbered(this->rank(), 0), vector[0]);
        EXPECT_EQ(numbered(root, 1), vector[1]);
        EXPECT_EQ(numbered(root, 300'000), vector[300'000]);
    }
}

TYPED_TEST(CollectivesOfFloats, MessagesBetweenTwoKeepTheirTagsApart) {
    const int next = (this->rank() + 1) % this->size();
    const int previous = (this->rank() - 1 + this->size()) % this->size();
    if (next == this->rank()) {
        return;  // one rank has no peer
    }
    const auto small = this->vectors(filled<float>(3, this->rank(), numbered));
    const auto large = this->vectors(filled<float>(600'000, this->rank(), numbered));
    std::vector<float> small_in(3);
    std::vector<float> large_in(600'000);
    const auto whole = [](const auto& v) { return std::vector<Block>{{0, std::ssize(v) * 4}}; };
    const int send_large = this->collectives->prepare({.kind = CollectiveKind::send,
                                                       .input = bytes(large),
                                                       .blocks = whole(large),
                                                       .peer = next,
                                                       .tag = 1,
                                                       .label = "large"});
    const int send_small = this->collectives->prepare({.kind = CollectiveKind::send,
                                                       .input = bytes(small),
                                                       .blocks = whole(small),
                                                       .peer = next,
                                                       .tag = 0,
                                                       .label = "small"});
    const int receive_small = this->collectives->prepare({.kind = CollectiveKind::receive,
                                                          .output = bytes(small_in),
                                                          .blocks = whole(small_in),
                                                          .peer = previous,
                                                          .tag = 0,
                                                          .label = "small"});
    const int receive_large = this->collectives->prepare({.kind = CollectiveKind::receive,
                                                          .output = bytes(large_in),
                                                          .blocks = whole(large_in),
                                                          .peer = previous,
                                                          .tag = 1,
                                                          .label = "large"});

    for (const int call : {send_large, send_small, receive_small, receive_large}) {
        this->collectives->start(call);
    }
    for (const int call : {receive_small, send_large, receive_large, send_small}) {
        wait(*this->collectives, call, unwatched, &this->node);
    }

    EXPECT_EQ(filled<float>(3, previous, numbered), small_in);
    EXPECT_EQ(filled<float>(600'000, previous, numbered), large_in);
}

TYPED_TEST(CollectivesOfFloats, AResultIsReadableBeforeTheInputsAreFree) {
    const auto blocks = uneven_blocks<float>(this->size(), 40'000);
    auto vector = this->vectors(filled<float>(elements_of<float>(blocks), this->rank(), ragged));
    const int call = this->collectives->prepare({.kind = CollectiveKind::all_reduce,
                                                 .input = bytes(vector),
                                                 .output = bytes(vector),
                                                 .blocks = blocks,
                                                 .label = "sums"});
    this->collectives->start(call);
    Backoff idle;
    while (!this->collectives->has_result(call)) {
        idle.idle();
    }

    expect_sums(vector.data(), {0, blocks.back().end()}, this->size(), 0);
    wait(*this->collectives, call, unwatched, &this->node);
    EXPECT_TRUE(this->collectives->has_result(call));
}

TYPED_TEST(CollectivesOfFloats, AnUnlikeCallIsRefusedByAllMembers) {
    if (this->size() == 1) {
        return;  // one rank always agrees
    }
    std::vector<float> vector(static_cast<std::size_t>(this->size()) * 4);
    auto blocks = test::even_blocks(std::ssize(vector), 4, this->size(), 1);
    const int sum_group = this->rank() == this->size() - 1 ? 2 : 0;

    const auto prepare = [&] {
        this->collectives->prepare({.kind = CollectiveKind::all_reduce,
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
