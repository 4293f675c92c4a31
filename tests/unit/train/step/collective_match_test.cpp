#include "train/step/collective_match.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ziggurat::train {
namespace {

using schedule::Engine;
using schedule::OpKind;

/// A program of one rank, op by op.
struct Rank {
    explicit Rank(int rank) { program.rank = rank; }

    schedule::Program program;

    int add(OpKind kind, const std::string& group = {}, const std::vector<int>& members = {}, int peer = -1) {
        schedule::Op op;
        op.kind = kind;
        op.lane = program.lane(kind == OpKind::compute ? Engine::compute : Engine::collective);
        if (!members.empty()) {
            op.group = program.group(group, members);
            op.peer = peer;
        }
        program.ops.push_back(op);
        return static_cast<int>(program.ops.size()) - 1;
    }
};

CollectiveMatch collectives_of(const std::vector<Rank>& ranks) {
    std::vector<std::vector<std::uint64_t>> keys;
    for (const auto& rank : ranks) {
        keys.push_back(collective_keys(rank.program));
    }
    return CollectiveMatch{keys};
}

/// Returns the op of `rank` that takes part; -1 if it has no such op.
int op_of(const CollectiveMatch& collectives, int of_rank, int op, int rank) {
    for (const auto& member : collectives.of(of_rank, op)) {
        if (member.rank == rank) {
            return member.op;
        }
    }
    return -1;
}

TEST(CollectiveMatch, FindsCollectivesByTheirPlaceInTheOrderOfTheGroup) {
    std::vector<Rank> ranks{Rank{0}, Rank{1}, Rank{2}};
    const int first = ranks[0].add(OpKind::all_gather, "data", {0, 1, 2});
    const int second = ranks[0].add(OpKind::reduce_scatter, "data", {0, 1, 2});
    ranks[1].add(OpKind::compute);
    const int first_of_1 = ranks[1].add(OpKind::all_gather, "data", {0, 1, 2});
    ranks[1].add(OpKind::all_gather, "pair", {1, 2});
    const int second_of_1 = ranks[1].add(OpKind::reduce_scatter, "data", {0, 1, 2});
    ranks[2].add(OpKind::all_gather, "pair", {1, 2});
    ranks[2].add(OpKind::all_gather, "data", {0, 1, 2});

    const auto collectives = collectives_of(ranks);

    EXPECT_EQ(op_of(collectives, 0, first, 1), first_of_1);
    EXPECT_EQ(op_of(collectives, 0, first, 2), 1);
    EXPECT_EQ(op_of(collectives, 0, second, 1), second_of_1);
    EXPECT_EQ(op_of(collectives, 0, second, 2), -1) << "rank 2 has no second one";
    EXPECT_EQ(op_of(collectives, 1, 2, 2), 0) << "the pair's own";
    EXPECT_EQ(op_of(collectives, 1, 2, 0), -1);
    EXPECT_TRUE(collectives.of(1, 0).empty()) << "computing is no collective";
}

TEST(CollectiveMatch, BringsTogetherASendAndItsReceive) {
    std::vector<Rank> ranks{Rank{0}, Rank{1}};
    const int there = ranks[0].add(OpKind::send, "stages", {0, 1}, 1);
    const int back = ranks[0].add(OpKind::receive, "stages", {0, 1}, 1);
    const int answer = ranks[1].add(OpKind::send, "stages", {0, 1}, 0);
    const int received = ranks[1].add(OpKind::receive, "stages", {0, 1}, 0);

    const auto collectives = collectives_of(ranks);

    EXPECT_EQ(op_of(collectives, 0, there, 1), received);
    EXPECT_EQ(op_of(collectives, 0, back, 1), answer);
}

TEST(CollectiveMatch, AllRanksEndTheStepTogether) {
    std::vector<Rank> ranks{Rank{0}, Rank{1}};
    ranks[0].add(OpKind::compute);
    const int end = ranks[0].add(OpKind::step_end);
    const int end_of_1 = ranks[1].add(OpKind::step_end);

    EXPECT_EQ(op_of(collectives_of(ranks), 0, end, 1), end_of_1);
}

}  // namespace
}  // namespace ziggurat::train
