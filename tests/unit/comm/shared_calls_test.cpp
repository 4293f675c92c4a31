#include "comm/node/shared_calls.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/node/shared_messages.hpp"
#include "tests/mpi/collectives/numbered_vectors.hpp"
#include "tests/support/even_blocks.hpp"
#include "tests/unit/comm/thread_ranks.hpp"

namespace ziggurat::comm {
namespace {

using tensor::bfloat16;
using namespace ziggurat::test;

constexpr std::int64_t arena_bytes = std::int64_t{1} << 20;
constexpr std::int64_t output_at = arena_bytes / 2;

/// Variants besides kind, members and blocks: all must give the same bits.
struct Path {
    const char* name;
    PullSettings settings;
};

std::vector<Path> ways() {
    return {{"two phases", {.inline_bytes = 0, .cache_bytes = std::int64_t{1} << 40}},
            {"past the caches", {.inline_bytes = 0, .cache_bytes = 0}},
            {"inside the seats", {.inline_bytes = MemberSlot::payload_bytes}}};
}

/// A call on one rank: the locations of its vectors, and the expected output.
template <class T>
class Scene {
  public:
    Scene(ThreadRanks& ranks,
          int rank,
          CollectiveKind kind,
          std::vector<Block> blocks,
          bool in_place,
          int shift)
        : rank_{rank}, size_{ranks.size()}, kind_{kind}, blocks_{std::move(blocks)} {
        in_ = ranks.arena(rank).data() + shift;
        out_ = in_place ? in_ : ranks.arena(rank).data() + output_at + shift;
        fill();
    }

    void fill() {
        for (const auto& block : blocks_) {
            for (std::int64_t i = first(block); i < last(block); ++i) {
                put(in_, i, T{ragged(rank_, i)});
                if (out_ != in_) {
                    put(out_, i, T{-7.0f});
                }
            }
        }
    }

    CollectiveCall call(int sum_group, int root) const {
        const Block own = blocks_[kind_ == CollectiveKind::broadcast ? 0 : static_cast<std::size_t>(rank_)];
        CollectiveCall made{.kind = kind_,
                            .type = dtype_of<T>,
                            .input = in_,
                            .output = out_,
                            .blocks = blocks_,
                            .peer = root,
                            .sum_group = sum_group,
                            .label = "scene"};
        // Here, a gathered block and a scattered sum always have their own offset in the vector.
        made.input_offset_bytes = kind_ == CollectiveKind::all_gather ? own.offset_bytes : 0;
        made.output_offset_bytes = kind_ == CollectiveKind::reduce_scatter ? own.offset_bytes : 0;
        return made;
    }

    void expect(int sum_group, int root, const std::string& where) const {
        for (std::size_t b = 0; b < blocks_.size(); ++b) {
            const bool is_mine = static_cast<int>(b) == rank_;
            if (kind_ == CollectiveKind::reduce_scatter && !is_mine) {
                continue;
            }
            if (kind_ == CollectiveKind::broadcast && rank_ == root) {
                continue;
            }
            for (std::int64_t i = first(blocks_[b]); i < last(blocks_[b]); ++i) {
                T want = expected_sum<T>(size_, sum_group, i, ragged);
                if (kind_ == CollectiveKind::all_gather) {
                    want = T{ragged(static_cast<int>(b), i)};
                } else if (kind_ == CollectiveKind::broadcast) {
                    want = T{ragged(root, i)};
                }
                T have;
                std::memcpy(&have, out_ + i * std::int64_t{sizeof(T)}, sizeof(T));
                ASSERT_EQ(0, std::memcmp(&want, &have, sizeof(T)))
                    << where << ": element " << i << " of member " << rank_;
            }
        }
    }

  private:
    static std::int64_t first(const Block& block) { return block.offset_bytes / std::int64_t{sizeof(T)}; }
    static std::int64_t last(const Block& block) { return block.end() / std::int64_t{sizeof(T)}; }
    static void put(std::byte* to, std::int64_t i, T value) {
        std::memcpy(to + i * std::int64_t{sizeof(T)}, &value, sizeof(T));
    }

    int rank_;
    int size_;
    CollectiveKind kind_;
    std::vector<Block> blocks_;
    std::byte* in_;
    std::byte* out_;
};

template <class T>
void expect_all_kinds(int members, const Path& path, std::uint32_t first_operation) {
    ThreadRanks ranks{members, arena_bytes, first_operation};
    ranks.run([&](int rank) {
        SharedCalls calls{ranks.seats_of(rank).seats, path.settings};
        for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                CollectiveKind::all_reduce, CollectiveKind::broadcast}) {
            for (const std::int64_t unit : {0, 1, 15, 16, 17, 700}) {
                for (const int variant : {0, 1, 2}) {
                    auto blocks = uneven_blocks<T>(members, unit);
                    if (kind == CollectiveKind::broadcast) {
                        blocks = {{0, blocks.back().end()}};
                    }
                    const int sum_group = variant == 1 ? 2 : variant == 2 ? 3 : 0;
                    const int root = variant % members;
                    const int shift = variant * static_cast<int>(sizeof(T));
                    Scene<T> scene{ranks, rank, kind, blocks, variant == 1, shift};
                    const int call = calls.add(scene.call(sum_group, root));

                    calls.start(call);
                    ranks.wait(rank, [&] {
                        calls.progress();
                        return calls.is_complete(call) && calls.has_result(call);
                    });

                    scene.expect(sum_group, root,
                                 std::string{name_of(kind)} + ", " + path.name + ", " +
                                     std::to_string(members) + " members, unit " + std::to_string(unit) +
                                     ", variant " + std::to_string(variant));
                    // Small sums complete before other ranks have read this rank's input: wait for them.
                    const int done = calls.add({.kind = CollectiveKind::all_reduce,
                                                .blocks = std::vector<Block>(std::size_t(members)),
                                                .label = "barrier"});
                    calls.start(done);
                    ranks.wait(rank, [&] {
                        calls.progress();
                        return calls.is_complete(done);
                    });
                }
            }
        }
    });
    EXPECT_EQ(0, ranks.num_lost_wakes);
}

class SharedCallsOfSize : public ::testing::TestWithParam<int> {};

TEST_P(SharedCallsOfSize, EveryKindGivesTheSameBitsEveryWay) {
    for (const auto& path : ways()) {
        expect_all_kinds<float>(GetParam(), path, 0);
        expect_all_kinds<bfloat16>(GetParam(), path, 0);
    }
}

TEST_P(SharedCallsOfSize, CountersMayWrapAround) {
    expect_all_kinds<float>(GetParam(), ways()[0], 0xffffffe0u);
}

INSTANTIATE_TEST_SUITE_P(Members, SharedCallsOfSize, ::testing::Values(1, 2, 3, 4, 5, 8, 9));

TEST(SharedCalls, TransposeBlocksOfAnySize) {
    constexpr int members = 4;
    const auto count = [](int from, int to) { return (from + 2 * to) % 4 * 301; };
    ThreadRanks ranks{members, arena_bytes};
    ranks.run([&](int rank) {
        SharedCalls calls{ranks.seats_of(rank).seats, {}};
        auto* in = reinterpret_cast<float*>(ranks.arena(rank).data());
        auto* out = reinterpret_cast<float*>(ranks.arena(rank).data() + output_at);
        CollectiveCall call{.kind = CollectiveKind::all_to_all,
                            .input = ranks.arena(rank).data(),
                            .output = ranks.arena(rank).data() + output_at,
                            .label = "transpose"};
        std::vector<Block> pulls;
        std::int64_t sent = 0;
        std::int64_t received = 0;
        for (int m = 0; m < members; ++m) {
            call.blocks.push_back({sent * 4, count(rank, m) * 4});
            call.output_blocks.push_back({received * 4, count(m, rank) * 4});
            std::int64_t at = 0;  // offset of this member's block in the vector of m
            for (int to = 0; to < rank; ++to) {
                at += count(m, to);
            }
            pulls.push_back({at * 4, count(m, rank) * 4});
            sent += count(rank, m);
            received += count(m, rank);
        }
        for (std::int64_t i = 0; i < sent; ++i) {
            in[i] = numbered(rank, i);
        }
        const int number = calls.add(call, pulls);

        calls.start(number);
        ranks.wait(rank, [&] {
            calls.progress();
            return calls.is_complete(number);
        });

        for (int from = 0; from < members; ++from) {
            const auto m = static_cast<std::size_t>(from);
            for (std::int64_t i = 0; i < count(from, rank); ++i) {
                ASSERT_EQ(numbered(from, pulls[m].offset_bytes / 4 + i),
                          out[call.output_blocks[m].offset_bytes / 4 + i]);
            }
        }
    });
    EXPECT_EQ(0, ranks.num_lost_wakes);
}

TEST(SharedCalls, ManyMayRunAtOnceAndQueueBeyondTheRing) {
    constexpr int members = 3;
    constexpr int num_calls = 11;  // the ring has four slots
    ThreadRanks ranks{members, arena_bytes, 0xfffffffau};
    ranks.run([&](int rank) {
        SharedCalls calls{ranks.seats_of(rank).seats, {.inline_bytes = 64}};
        std::mt19937 random{static_cast<unsigned>(rank)};
        std::vector<CollectiveCall> described;
        for (int c = 0; c < num_calls; ++c) {
            std::byte* at = ranks.arena(rank).data() + c * 16384;
            described.push_back({.kind = CollectiveKind::all_reduce,
                                 .input = at,
                                 .output = at,
                                 .blocks = test::even_blocks(c % 3 == 0 ? 5 : 100 + 300 * c, 4, members, 1),
                                 .label = "sum " + std::to_string(c)});
            calls.add(described.back());
        }
        for (int round = 0; round < 20; ++round) {
            for (int c = 0; c < num_calls; ++c) {
                auto* vector = reinterpret_cast<float*>(described[std::size_t(c)].output);
                for (std::int64_t i = 0; i < described[std::size_t(c)].blocks.back().end() / 4; ++i) {
                    vector[i] = ragged(rank, i + round);
                }
                calls.start(c);
                if (random() % 3 == 0) {
                    std::this_thread::yield();
                }
            }
            for (int c = num_calls - 1; c >= 0; --c) {  // in reverse order
                ranks.wait(rank, [&] {
                    calls.progress();
                    return calls.is_complete(c);
                });
            }
            int num_wrong = 0;
            for (int c = 0; c < num_calls; ++c) {
                const auto* vector = reinterpret_cast<const float*>(described[std::size_t(c)].output);
                for (std::int64_t i = 0; i < described[std::size_t(c)].blocks.back().end() / 4; ++i) {
                    num_wrong += expected_sum<float>(members, 0, i + round, ragged) == vector[i] ? 0 : 1;
                }
            }
            EXPECT_EQ(0, num_wrong) << "in round " << round;
        }
    });
    EXPECT_EQ(0, ranks.num_lost_wakes);
}

TEST(SharedCalls, UnlikeCallsAreReportedWithBothNames) {
    ThreadRanks ranks{2, arena_bytes};
    std::vector<std::string> printed(2);
    ranks.run([&](int rank) {
        SharedCalls calls{ranks.seats_of(rank).seats, {.inline_bytes = 0, .group = "group 'data'"}};
        auto* at = ranks.arena(rank).data();
        for (const char* label : {"gradients of layer 3", "weights of layer 4"}) {
            const bool is_sum = label[0] == 'g';
            calls.add({.kind = is_sum ? CollectiveKind::all_reduce : CollectiveKind::all_gather,
                       .input = at,
                       .output = at,
                       .input_offset_bytes = is_sum ? 0 : rank * 400,
                       .blocks = {{0, 400}, {400, 400}},
                       .label = label});
        }
        try {
            calls.start(rank);
            ranks.wait(rank, [&] { return calls.progress(); });
        } catch (const Error& error) {
            printed[static_cast<std::size_t>(rank)] = error.what();
        }
    });
    for (const auto& message : printed) {
        for (const char* part :
             {"operation 1 of group 'data'", "'gradients of layer 3' (all_reduce, 800 bytes)",
              "'weights of layer 4' (all_gather, 800 bytes)", "on member"}) {
            EXPECT_NE(std::string::npos, message.find(part)) << message;
        }
    }
}

TEST(SharedCalls, CountWhatTheyTouchOfOthers) {
    ThreadRanks ranks{4, arena_bytes};
    ranks.run([&](int rank) {
        SharedCalls calls{ranks.seats_of(rank).seats, {.inline_bytes = 100}};
        auto* at = ranks.arena(rank).data();
        const auto run = [&](CollectiveKind kind, std::int64_t block_bytes) {
            std::vector<Block> blocks;
            for (int m = 0; m < 4; ++m) {
                blocks.push_back({m * block_bytes, block_bytes});
            }
            const int call = calls.add(
                {.kind = kind,
                 .input = at,
                 .output = at,
                 .input_offset_bytes = kind == CollectiveKind::all_gather ? rank * block_bytes : 0,
                 .output_offset_bytes = kind == CollectiveKind::reduce_scatter ? rank * block_bytes : 0,
                 .blocks = blocks,
                 .label = "counted"});
            for (int i = 0; i < 2; ++i) {
                calls.start(call);
                ranks.wait(rank, [&] {
                    calls.progress();
                    return calls.is_complete(call);
                });
            }
            return calls.bytes_moved(call) / 2;
        };
        for (const std::int64_t block : {16, 4000}) {  // inside the seats and outside
            EXPECT_EQ(3 * block, run(CollectiveKind::all_gather, block));
            EXPECT_EQ(3 * block, run(CollectiveKind::reduce_scatter, block));
            EXPECT_EQ(6 * block, run(CollectiveKind::all_reduce, block));
        }
    });
}

TEST(SharedCalls, CarryOnlyWhatLiesInTheArenas) {
    ThreadRanks ranks{2, 4096};
    const SharedCalls calls{ranks.seats_of(0).seats, {.inline_bytes = 64}};
    std::vector<std::byte> elsewhere(4096);
    auto* inside = ranks.arena(0).data();
    const auto can_carry = [&](CollectiveKind kind, std::byte* in, std::byte* out, std::int64_t bytes) {
        return calls.can_carry({.kind = kind,
                                .input = in,
                                .output = out,
                                .blocks = kind == CollectiveKind::broadcast
                                              ? std::vector<Block>{{0, bytes}}
                                              : std::vector<Block>{{0, bytes / 2}, {bytes / 2, bytes / 2}},
                                .peer = 1});
    };
    using K = CollectiveKind;

    EXPECT_TRUE(can_carry(K::all_reduce, inside, inside, 4096));
    EXPECT_FALSE(can_carry(K::all_reduce, inside + 4, inside + 4, 4096));
    EXPECT_FALSE(can_carry(K::all_reduce, inside, elsewhere.data(), 4096));
    EXPECT_TRUE(can_carry(K::all_reduce, elsewhere.data(), elsewhere.data(), 64));
    EXPECT_TRUE(can_carry(K::reduce_scatter, inside, elsewhere.data(), 4096));
    EXPECT_FALSE(can_carry(K::all_gather, elsewhere.data(), inside, 4096));
    EXPECT_TRUE(can_carry(K::broadcast, elsewhere.data(), elsewhere.data(), 4096));  // it only receives
}

TEST(SharedMessages, KeepTagsApartAndOrderWithin) {
    constexpr int num_messages = 40;  // more than a mailbox holds
    ThreadRanks ranks{3, arena_bytes};
    ranks.run([&](int rank) {
        SharedMessages messages{ranks.seats_of(rank), "the group"};
        const int next = (rank + 1) % 3;
        const int previous = (rank + 2) % 3;
        auto* out = reinterpret_cast<float*>(ranks.arena(rank).data());
        std::vector<float> in(num_messages * 10);  // a receiver's memory does not have to be shared
        std::vector<int> sends;
        std::vector<int> receives;
        for (int i = 0; i < num_messages; ++i) {
            for (int e = 0; e < 10; ++e) {
                out[i * 10 + e] = numbered(rank, i * 10 + e);
            }
            sends.push_back(messages.add({.kind = CollectiveKind::send,
                                          .input = reinterpret_cast<std::byte*>(out),
                                          .blocks = {{i * 40, 40}},
                                          .peer = next,
                                          .tag = i % 2,
                                          .label = "out"}));
            receives.push_back(messages.add({.kind = CollectiveKind::receive,
                                             .output = bytes(in),
                                             .blocks = {{i * 40, 40}},
                                             .peer = previous,
                                             .tag = i % 2,
                                             .label = "in"}));
        }
        for (const int send : sends) {
            messages.start(send);
        }
        for (const int tag : {1, 0}) {
            for (int i = tag; i < num_messages && i < 16; i += 2) {
                messages.start(receives[static_cast<std::size_t>(i)]);
            }
        }
        for (int i = 16; i < num_messages; ++i) {
            messages.start(receives[static_cast<std::size_t>(i)]);
        }
        ranks.wait(rank, [&] {
            messages.progress();
            const auto is_complete = [&](int m) { return messages.is_complete(m); };
            return std::ranges::all_of(sends, is_complete) && std::ranges::all_of(receives, is_complete);
        });

        for (int i = 0; i < num_messages * 10; ++i) {
            ASSERT_EQ(numbered(previous, i), in[static_cast<std::size_t>(i)]);
        }
        EXPECT_EQ(40, messages.bytes_moved(receives[0]));
        EXPECT_EQ(0, messages.bytes_moved(sends[0]));
    });
    EXPECT_EQ(0, ranks.num_lost_wakes);
}

TEST(SharedMessages, OfUnlikeLengthsAreReported) {
    ThreadRanks ranks{2, arena_bytes};
    std::string printed;
    ranks.run([&](int rank) {
        SharedMessages messages{ranks.seats_of(rank), "group 'pipeline'"};
        auto* at = ranks.arena(rank).data();
        const int message = messages.add({.kind = rank == 0 ? CollectiveKind::send : CollectiveKind::receive,
                                          .input = at,
                                          .output = at,
                                          .blocks = {{0, 8 + rank}},
                                          .peer = 1 - rank,
                                          .label = "activations"});
        try {
            messages.start(message);
            ranks.wait(rank, [&] { return messages.progress(); });
        } catch (const Error& error) {
            printed = error.what();
        }
    });
    EXPECT_NE(std::string::npos,
              printed.find("member 0 of group 'pipeline' sends 8 bytes where 'activations' of "
                           "member 1 receives 9"))
        << printed;
}

}  // namespace
}  // namespace ziggurat::comm
