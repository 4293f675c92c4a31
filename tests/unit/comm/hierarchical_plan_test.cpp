#include "comm/hierarchical/hierarchical_plan.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "tests/support/bytes_to_move.hpp"

namespace ziggurat::comm {
namespace {

using test::bytes_to_move;

const std::vector<std::vector<int>> node_lists = {
    {0, 1},                    // one each
    {0, 0, 1},                 //
    {0, 0, 1, 1},              // the equal case
    {0, 1, 0, 1},              // strided
    {0, 0, 1, 2, 2, 3},        // six on four
    {0, 0, 0, 1, 1, 2, 2},     // seven on three
    {0, 0, 0, 0, 1, 1, 1, 1},  // eight on two
    {0, 0, 0, 0, 1, 2, 3, 4},  // one large node among small ones
    {0, 1, 1, 0, 2, 2, 2, 0},  // in no order
};

template <class Body>
void for_each_plan(const Body& body) {
    for (const auto& nodes : node_lists) {
        for (int sum_group = 0; sum_group <= std::ssize(nodes) + 1; ++sum_group) {
            SCOPED_TRACE(::testing::PrintToString(nodes) + ", sum_group " + std::to_string(sum_group));
            body(HierarchicalPlan{nodes, sum_group});
        }
    }
}

CollectiveCall call_of(CollectiveKind kind, int size, spec::DType type = spec::DType::f32) {
    std::vector<Block> blocks;
    for (int m = 0; m < size; ++m) {
        blocks.push_back({m * 4000, 4000});
    }
    if (kind == CollectiveKind::broadcast) {
        blocks = {{8, 4000}};
    }
    return {.kind = kind, .type = type, .blocks = blocks, .output_blocks = blocks, .peer = size - 1};
}

TEST(HierarchicalPlan, PartsAreWholeRunsInsideANodeAndSingleMembersAcross) {
    const std::vector<int> six_on_three{0, 0, 1, 1, 2, 2};
    const auto parts_of = [&](int sum_group) {
        const HierarchicalPlan plan{six_on_three, sum_group};
        return std::vector<SumPart>(plan.parts().begin(), plan.parts().end());
    };

    const std::vector<SumPart> pairs{{.first = 0, .count = 2, .node = 0, .run = 0},
                                     {.first = 2, .count = 2, .node = 1, .run = 1},
                                     {.first = 4, .count = 2, .node = 2, .run = 2}};
    EXPECT_EQ(pairs, parts_of(2));

    const auto singles = parts_of(4);  // 0..3 span nodes, 4 and 5 are on one
    ASSERT_EQ(5, std::ssize(singles));
    EXPECT_EQ((SumPart{.first = 3, .count = 1, .node = 1, .run = 0}), singles[3]);
    EXPECT_EQ((SumPart{.first = 4, .count = 2, .node = 2, .run = 1}), singles[4]);
}

TEST(HierarchicalPlan, EveryAddendOfEveryBlockIsCountedOnce) {
    for_each_plan([](const HierarchicalPlan& plan) {
        for (int owner = 0; owner < plan.size(); ++owner) {
            std::multiset<int> addends;
            for (const int m : plan.members_on(plan.node_of(owner))) {
                addends.insert(m);  // read by the owner itself
            }
            for (const auto& part : plan.parts()) {
                if (part.node != plan.node_of(owner)) {
                    const int summer = plan.summer(part, owner);
                    EXPECT_TRUE(part.has(summer));
                    EXPECT_EQ(part, plan.part_of(summer));
                    for (int m = part.first; m < part.first + part.count; ++m) {
                        EXPECT_EQ(part.node, plan.node_of(m));
                        addends.insert(m);
                    }
                }
            }
            std::multiset<int> all;
            for (int m = 0; m < plan.size(); ++m) {
                all.insert(m);
            }
            EXPECT_EQ(all, addends) << "of block " << owner;
        }
    });
}

TEST(HierarchicalPlan, AGathererSumsItsOwnPartOfWhatItGathers) {
    for_each_plan([](const HierarchicalPlan& plan) {
        for (int owner = 0; owner < plan.size(); ++owner) {
            for (int node = 0; node < plan.num_nodes(); ++node) {
                if (node != plan.node_of(owner)) {
                    const int gatherer = plan.gatherer(node, owner);
                    EXPECT_EQ(node, plan.node_of(gatherer));
                    EXPECT_EQ(gatherer, plan.summer(plan.part_of(gatherer), owner));
                }
            }
        }
    });
}

TEST(HierarchicalPlan, ForeignOwnersAreDealtEvenly) {
    for_each_plan([](const HierarchicalPlan& plan) {
        for (int node = 0; node < plan.num_nodes(); ++node) {
            std::vector<int> gathered(static_cast<std::size_t>(plan.size()));
            for (int owner = 0; owner < plan.size(); ++owner) {
                if (plan.node_of(owner) != node) {
                    ++gathered[static_cast<std::size_t>(plan.gatherer(node, owner))];
                }
            }
            const auto members = plan.members_on(node);
            const int min =
                (plan.size() - static_cast<int>(members.size())) / static_cast<int>(members.size());
            for (const int m : members) {
                EXPECT_GE(gathered[static_cast<std::size_t>(m)], min);
                EXPECT_LE(gathered[static_cast<std::size_t>(m)], min + 1);
            }
        }
    });
}

TEST(HierarchicalPlan, OnEqualNodesMembersOfTheSamePlaceServeEachOther) {
    const HierarchicalPlan plan{{0, 0, 1, 1, 2, 2}, 2};
    for (int owner = 0; owner < 6; ++owner) {
        for (const auto& part : plan.parts()) {
            if (part.node != plan.node_of(owner)) {
                EXPECT_EQ(owner % 2, plan.summer(part, owner) % 2);
                EXPECT_EQ(plan.summer(part, owner), plan.gatherer(part.node, owner));
            }
        }
    }
}

TEST(HierarchicalPlan, MembersOfEqualNodesMoveWhatARingMoves) {
    using K = CollectiveKind;
    for (const int on_each : {1, 2, 3, 4}) {
        for (const int nodes : {2, 3, 4}) {
            std::vector<int> node_of;
            for (int m = 0; m < nodes * on_each; ++m) {
                node_of.push_back(m / on_each);
            }
            const int size = nodes * on_each;
            for (int sum_group = 1; sum_group <= on_each; ++sum_group) {
                const HierarchicalPlan plan{node_of, sum_group};
                for (int m = 0; m < size && on_each % sum_group == 0; ++m) {
                    const std::int64_t ring = 4000 * (size - 1);
                    EXPECT_EQ(ring, bytes_to_move(plan, call_of(K::reduce_scatter, size), m));
                    EXPECT_EQ(ring, bytes_to_move(plan, call_of(K::all_gather, size), m));
                    EXPECT_EQ(2 * ring, bytes_to_move(plan, call_of(K::all_reduce, size), m));
                    EXPECT_EQ(ring, bytes_to_move(plan, call_of(K::all_to_all, size), m));
                }
            }
        }
    }
}

TEST(HierarchicalPlan, AllMembersTogetherMoveWhatARingMovesOnAnyNodes) {
    for_each_plan([](const HierarchicalPlan& plan) {
        const auto total = [&](CollectiveKind kind) {
            std::int64_t bytes = 0;
            for (int m = 0; m < plan.size(); ++m) {
                bytes += bytes_to_move(plan, call_of(kind, plan.size()), m);
            }
            return bytes / 4000;
        };
        const std::int64_t ring = plan.size() * (plan.size() - 1);
        using K = CollectiveKind;
        EXPECT_EQ(ring, total(K::reduce_scatter));
        EXPECT_EQ(ring, total(K::all_gather));
        EXPECT_EQ(2 * ring, total(K::all_reduce));
        EXPECT_EQ(ring, total(K::all_to_all));
        EXPECT_EQ(plan.size() - 1, total(K::broadcast));
    });
}

TEST(HierarchicalPlan, PartialSumsCountAsTheElementsThatTheyStandFor) {
    for (const int sum_group : {1, 2}) {
        const HierarchicalPlan plan{{0, 0, 1, 1}, sum_group};
        const auto call = call_of(CollectiveKind::reduce_scatter, 4, spec::DType::bf16);

        EXPECT_EQ(3 * 4000, bytes_to_move(plan, call, 0));
    }
}

TEST(HierarchicalPlan, StagingStaysBoundedWhateverTheGroup) {
    for (const int nodes : {2, 8, 64}) {
        for (const int on_each : {1, 2, 8}) {
            std::vector<int> node_of;
            for (int m = 0; m < nodes * on_each; ++m) {
                node_of.push_back(m / on_each);
            }
            for (const int sum_group : {0, 1, on_each}) {
                const HierarchicalPlan plan{node_of, sum_group};
                EXPECT_GE(plan.piece_elements(), 1024);
                EXPECT_LE(plan.piece_elements(), 65536);
                EXPECT_LE(plan.staging_bytes(0), 4 * 1024 * 1024);
            }
        }
    }
    EXPECT_EQ(65536, (HierarchicalPlan{{0, 0, 1, 1}, 2}.piece_elements()));
}

}  // namespace
}  // namespace ziggurat::comm
