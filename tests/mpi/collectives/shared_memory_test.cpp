/// Memory shared by the ranks of a node, and the fallback if sharing is not allowed.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/backoff.hpp"
#include "comm/control.hpp"
#include "comm/make_collectives.hpp"
#include "comm/node/shared_collectives.hpp"
#include "comm/wait_context.hpp"
#include "tests/mpi/collectives/arena_vectors.hpp"
#include "tests/mpi/collectives/numbered_vectors.hpp"
#include "tests/support/even_blocks.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::comm {
namespace {

using namespace ziggurat::test;

const WaitContext unwatched;
constexpr std::int64_t elements = 5000;

/// Sums every rank's vector over all ranks, in place. Returns true if the sums are correct.
bool sums_are_right(Collectives& collectives, NodeMemory& node, std::pmr::vector<float>& vector) {
    const int call = collectives.prepare({.kind = CollectiveKind::all_reduce,
                                          .input = bytes(vector),
                                          .output = bytes(vector),
                                          .blocks = test::even_blocks(elements, 4, collectives.size(), 1),
                                          .label = "sums"});
    collectives.start(call);
    wait(collectives, call, unwatched, &node);
    bool is_right = true;
    for (std::int64_t i = 0; i < elements; ++i) {
        is_right = is_right && vector[static_cast<std::size_t>(i)] ==
                                   expected_sum<float>(collectives.size(), 0, i, ragged);
    }
    return is_right;
}

bool goes_through_shared_memory(const Collectives& collectives, int call) {
    const auto* shared = dynamic_cast<const SharedCollectives*>(&collectives);
    return shared != nullptr && shared->is_shared(call);
}

TEST(NodeMemory, SharesArenasOfTheNode) {
    NodeMemory node{world(), {}};
    ArenaVectors vectors{node};
    auto vector = vectors(filled<float>(elements, world().rank(), ragged));
    const auto collectives = make_collectives(world().group(), node);

    EXPECT_TRUE(sums_are_right(*collectives, node, vector));

    EXPECT_TRUE(node.is_shared()) << node.not_shared_reason();
    EXPECT_TRUE(goes_through_shared_memory(*collectives, 0));
}

TEST(NodeMemory, ADeniedShareIsAgreedOnAndNamed) {
    NodeMemory node{world(), {.may_share = false}};
    ArenaVectors vectors{node};
    auto vector = vectors(filled<float>(elements, world().rank(), ragged));
    const auto collectives = make_collectives(world().group(), node);

    EXPECT_TRUE(sums_are_right(*collectives, node, vector));

    EXPECT_FALSE(node.is_shared());
    EXPECT_FALSE(node.not_shared_reason().empty());
    EXPECT_FALSE(goes_through_shared_memory(*collectives, 0));
}

TEST(NodeMemory, WhatOneRankMayNotShareNobodyShares) {
    if (world().size() == 1) {
        return;  // one rank has no peer that could be denied
    }
    NodeMemory node{world(), {.may_share = world().rank() != world().size() - 1}};
    ArenaVectors vectors{node};
    auto vector = vectors(filled<float>(elements, world().rank(), ragged));
    const auto collectives = make_collectives(world().group(), node);

    EXPECT_TRUE(sums_are_right(*collectives, node, vector));

    EXPECT_FALSE(node.is_shared());
    EXPECT_EQ("sharing is disabled", node.not_shared_reason());
}

TEST(NodeMemory, PretendedNodesShareNothing) {
    const int ranks = world().size();
    if (ranks < 2) {
        return;
    }
    NodeMemory node{world(), {.pretended_nodes = 2}};

    int on_my_node = 0;
    for (int r = 0; r < ranks; ++r) {
        on_my_node += node.local_rank_of(r) >= 0 ? 1 : 0;
        EXPECT_EQ(node.nodes().node_of[static_cast<std::size_t>(r)] == node.nodes().node,
                  node.local_rank_of(r) >= 0);
    }
    EXPECT_EQ(ranks / 2, on_my_node);
    EXPECT_FALSE(node.is_on_this_node(world().group()));
    EXPECT_TRUE(node.is_on_this_node(world().group().split(node.nodes().node)));
    EXPECT_TRUE(node.must_poll());
}

TEST(SharedCollectives, AVectorOutsideOfTheArenasOnOneRankGoesByMpiOnAll) {
    NodeMemory node{world(), {}};
    ArenaVectors vectors{node};
    auto vector = vectors(filled<float>(elements, world().rank(), ragged));
    const bool is_last = world().rank() == world().size() - 1;
    std::pmr::vector<float> elsewhere{vector.begin(), vector.end()};
    const auto collectives = make_collectives(world().group(), node);

    EXPECT_TRUE(sums_are_right(*collectives, node, is_last ? elsewhere : vector));

    EXPECT_EQ(world().size() == 1, goes_through_shared_memory(*collectives, 0));
    EXPECT_FALSE(node.must_poll());  // no call is in progress
}

TEST(SharedCollectives, AMessageFromOutsideOfTheArenasArrivesAllTheSame) {
    NodeMemory node{world(), {}};
    ArenaVectors vectors{node};
    if (world().size() == 1) {
        return;
    }
    const auto collectives = make_collectives(world().group(), node);
    const int next = (world().rank() + 1) % world().size();
    const int previous = (world().rank() + world().size() - 1) % world().size();
    // Every second message is sent from memory that is not shared.
    std::vector<std::vector<float>> hidden;
    std::vector<std::pmr::vector<float>> seen;
    std::vector<std::vector<float>> arrived(6, std::vector<float>(elements));
    std::vector<int> calls;
    for (int i = 0; i < 6; ++i) {
        hidden.push_back(filled<float>(elements, world().rank() + 10 * i, numbered));
        seen.push_back(vectors(hidden.back()));
        calls.push_back(collectives->prepare({.kind = CollectiveKind::send,
                                              .input = i % 2 == 0 ? bytes(hidden.back()) : bytes(seen.back()),
                                              .blocks = {{0, elements * 4}},
                                              .peer = next,
                                              .tag = 3,
                                              .label = "out"}));
    }
    for (int i = 0; i < 6; ++i) {
        calls.push_back(collectives->prepare({.kind = CollectiveKind::receive,
                                              .output = bytes(arrived[static_cast<std::size_t>(i)]),
                                              .blocks = {{0, elements * 4}},
                                              .peer = previous,
                                              .tag = 3,
                                              .label = "in"}));
    }
    for (const int call : calls) {
        collectives->start(call);
    }
    for (const int call : calls) {
        wait(*collectives, call, unwatched, &node);
    }

    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(filled<float>(elements, previous + 10 * i, numbered), arrived[static_cast<std::size_t>(i)])
            << "message " << i;
    }
    EXPECT_FALSE(node.must_poll());
}

TEST(SharedCollectives, MoreRanksThanCoresNeverOversleep) {
    // A lost wake-up would last a minute and be counted. Without spins every wait sleeps.
    NodeMemory node{world(), {.wait = WaitPolicy{0, 0}, .longest_sleep_ns = 600'000'000'000}};
    ArenaVectors vectors{node};
    auto vector = vectors(filled<float>(64, world().rank(), numbered));
    auto large = vectors(filled<float>(4096, world().rank(), numbered));
    const auto collectives = make_collectives(world().group(), node);
    const auto sum_of = [&](std::pmr::vector<float>& summed) {
        return collectives->prepare({.kind = CollectiveKind::all_reduce,
                                     .input = bytes(summed),
                                     .output = bytes(summed),
                                     .blocks = test::even_blocks(std::ssize(summed), 4, world().size(), 1),
                                     .label = "small"});
    };
    const int barrier_like = sum_of(vector);
    const int two_phases = sum_of(large);

    for (int i = 0; i < 1000; ++i) {
        const int call = i % 4 == 0 ? two_phases : barrier_like;
        vector.assign(64, 1.0f);
        large.assign(4096, 1.0f);
        collectives->start(call);
        wait(*collectives, call, unwatched, &node);
        ASSERT_EQ(static_cast<float>(world().size()), i % 4 == 0 ? large.back() : vector.back());
    }

    EXPECT_EQ(0, node.wait_counts().timeouts);
}

TEST(SharedCollectives, ThreadsOfARankShareALargePull) {
    NodeMemory node{world(), {.threads = 3}};
    ArenaVectors vectors{node};
    const std::int64_t many = 400'000;  // blocks with several pieces
    const auto input = vectors(filled<float>(many, world().rank(), ragged));
    auto output = vectors(static_cast<std::size_t>(many), 0.0f);
    const auto collectives = make_collectives(world().group(), node);
    const int call = collectives->prepare({.kind = CollectiveKind::all_reduce,
                                           .input = bytes(input),
                                           .output = bytes(output),
                                           .blocks = test::even_blocks(many, 4, world().size(), 1),
                                           .sum_group = 3,
                                           .label = "large"});
    collectives->start(call);
    wait(*collectives, call, unwatched, &node);

    for (std::int64_t i = 0; i < many; ++i) {
        ASSERT_EQ(expected_sum<float>(world().size(), 3, i, ragged), output[static_cast<std::size_t>(i)]);
    }
}

/// Returns the inodes of shared segments that this process maps or holds open.
std::set<std::string> segments_of_this_process() {
    std::set<std::string> found;
    std::ifstream maps{"/proc/self/maps"};
    for (std::string line; std::getline(maps, line);) {
        if (line.find("memfd:ziggurat") != std::string::npos) {
            found.insert(line);
        }
    }
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        std::error_code ignored;
        const auto target = std::filesystem::read_symlink(entry.path(), ignored).string();
        if (target.find("memfd:ziggurat") != std::string::npos) {
            found.insert(entry.path().string());
        }
    }
    return found;
}

TEST(NodeMemory, LeavesNothingBehind) {
    const auto before = segments_of_this_process();
    {
        NodeMemory node{world(), {}};
        ArenaVectors vectors{node};
        const auto collectives = make_collectives(world().group(), node);
        EXPECT_LT(before.size(), segments_of_this_process().size());
        barrier(world());
    }

    EXPECT_EQ(before, segments_of_this_process());
}

}  // namespace
}  // namespace ziggurat::comm
