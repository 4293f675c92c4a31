#include "schedule/verify/simulate.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

/// Hand-written programs of `ranks` ranks that share one group.
class Hand {
  public:
    explicit Hand(int ranks) : programs(static_cast<std::size_t>(ranks)) {
        std::vector<int> members;
        for (int r = 0; r < ranks; ++r) {
            members.push_back(r);
        }
        for (int r = 0; r < ranks; ++r) {
            auto& program = programs[static_cast<std::size_t>(r)];
            program.rank = r;
            program.lane(Engine::compute);
            program.group("all", members);
        }
    }

    Program& of(int rank) { return programs[static_cast<std::size_t>(rank)]; }

    int buffer(int rank, std::int64_t bytes, std::int64_t offset = -1) {
        Buffer made;
        made.name = "buffer " + std::to_string(of(rank).buffers.size());
        made.bytes = bytes;
        made.offset = offset;
        return of(rank).add_buffer(made);
    }

    Op& op(int rank, OpKind kind, int lane, std::vector<int> reads, std::vector<int> writes) {
        Op made;
        made.kind = kind;
        made.lane = lane;
        made.label = "op " + std::to_string(of(rank).ops.size());
        for (const int b : reads) {
            made.reads.push_back(whole(of(rank), b, Role::input));
        }
        for (const int b : writes) {
            made.writes.push_back(whole(of(rank), b, Role::output));
        }
        of(rank).ops.push_back(made);
        return of(rank).ops.back();
    }

    Op& collective(int rank, OpKind kind, int buffer_index) {
        auto& made = op(rank, kind, of(rank).lane(Engine::collective, 0), {buffer_index}, {buffer_index});
        made.group = 0;
        const auto size = static_cast<std::int64_t>(programs.size());
        const auto bytes = of(rank).buffers[static_cast<std::size_t>(buffer_index)].bytes / size;
        for (std::int64_t m = 0; m < size; ++m) {
            made.blocks.push_back({m * bytes, bytes});
        }
        return made;
    }

    Op& message(int rank, OpKind kind, int peer, int tag, int buffer_index) {
        const bool sends = kind == OpKind::send;
        const int lane = of(rank).lane(Engine::channel, 0, sends ? Direction::forward : Direction::backward);
        auto& made =
            sends ? op(rank, kind, lane, {buffer_index}, {}) : op(rank, kind, lane, {}, {buffer_index});
        made.group = 0;
        made.peer = peer;
        made.tag = tag;
        return made;
    }

    /// Returns true if a finding of that kind occurs for some order of the lanes.
    bool finds(FindingKind kind) const {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const auto result = simulate(programs, nullptr, {.seed = seed});
            if (std::any_of(result.findings.begin(), result.findings.end(),
                            [&](const Finding& f) { return f.kind == kind; })) {
                return true;
            }
        }
        return false;
    }
    std::string report() const {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const auto result = simulate(programs, nullptr, {.seed = seed});
            if (!result.ok()) {
                return result.report();
            }
        }
        return {};
    }

    std::vector<Program> programs;
};

Hand summing(int ranks) {
    Hand hand{ranks};
    for (int r = 0; r < ranks; ++r) {
        const int b = hand.buffer(r, 16 * ranks);
        hand.op(r, OpKind::compute, 0, {}, {b}).waits_for_previous_step = {2};
        hand.collective(r, OpKind::all_reduce, b).waits_for = {0};
        hand.op(r, OpKind::compute, 0, {b}, {}).waits_for = {1};
    }
    return hand;
}

TEST(Simulate, EndsWhenEveryWaitIsMet) {
    EXPECT_EQ(summing(3).report(), "");
}

TEST(Simulate, FindsAWaitThatIsMissing) {
    auto hand = summing(3);
    hand.of(1).ops[2].waits_for.clear();

    EXPECT_TRUE(hand.finds(FindingKind::overwritten_read) || hand.finds(FindingKind::stale_read));
}

TEST(Simulate, FindsMembersInDifferentCalls) {
    auto hand = summing(3);
    hand.of(2).ops[1].kind = OpKind::all_gather;

    const auto report = hand.report();

    EXPECT_NE(report.find("collective mismatch: in group 'all', rank 0, op 1"), std::string::npos) << report;
}

TEST(Simulate, SaysWhoWaitsForWhom) {
    Hand hand{2};
    for (int r = 0; r < 2; ++r) {
        const int in = hand.buffer(r, 16);
        const int out = hand.buffer(r, 16);
        hand.message(r, OpKind::receive, 1 - r, 0, in);
        hand.op(r, OpKind::compute, 0, {in}, {out}).waits_for = {0};
        hand.message(r, OpKind::send, 1 - r, 0, out).waits_for = {1};
    }

    const auto report = hand.report();

    EXPECT_NE(report.find("deadlock"), std::string::npos) << report;
    EXPECT_NE(report.find("rank 0, op 0 'op 0' of step 0 waits for rank 1"), std::string::npos) << report;
    EXPECT_NE(report.find("rank 1, op 0 'op 0' of step 0 waits for rank 0"), std::string::npos) << report;
}

TEST(Simulate, FindsASendThatNobodyReceives) {
    Hand hand{2};
    const int b = hand.buffer(0, 16);
    hand.op(0, OpKind::compute, 0, {}, {b}).waits_for_previous_step = {1};
    hand.message(0, OpKind::send, 1, 7, b).waits_for = {0};
    hand.op(1, OpKind::compute, 0, {}, {hand.buffer(1, 16)});

    EXPECT_TRUE(hand.finds(FindingKind::deadlock));
    const auto buffered = simulate(hand.programs, nullptr, {.buffered_sends = 5});
    ASSERT_EQ(buffered.findings.size(), 1U);
    EXPECT_EQ(buffered.findings.front().kind, FindingKind::unmatched_message);
}

TEST(Simulate, FindsBytesThatNobodyHasWritten) {
    Hand hand{1};
    hand.op(0, OpKind::compute, 0, {hand.buffer(0, 16)}, {});

    EXPECT_TRUE(hand.finds(FindingKind::unwritten_read));
}

TEST(Simulate, FindsAPlaceThatIsUsedAgainTooEarly) {
    Hand hand{1};
    const int a = hand.buffer(0, 16, 0);
    const int b = hand.buffer(0, 16, 8);
    hand.op(0, OpKind::compute, 0, {}, {a});
    hand.op(0, OpKind::compute, 0, {}, {b});
    hand.op(0, OpKind::compute, 0, {a}, {});

    EXPECT_NE(hand.report().find("'buffer 0' (input) at byte 8, where 'buffer 1' has since been written"),
              std::string::npos)
        << hand.report();
}

TEST(Simulate, FindsAValueOfTheStepBefore) {
    Hand hand{1};
    const int a = hand.buffer(0, 16);
    hand.op(0, OpKind::compute, 0, {}, {a}).waits_for_previous_step = {1};
    const int copies = hand.of(0).lane(Engine::host_to_device);
    hand.op(0, OpKind::compute, copies, {a}, {});
    hand.of(0).ops[0].waits_for_previous_step.clear();

    EXPECT_TRUE(hand.finds(FindingKind::unwritten_read));
    EXPECT_TRUE(hand.finds(FindingKind::stale_read));
}

/// Adds a predicate that the trainer sets to the collective of a rank.
void set_predicate(Hand& hand, int rank) {
    auto& program = hand.of(rank);
    const int flag = hand.buffer(rank, 16);
    program.buffers[static_cast<std::size_t>(flag)].lifetime = Lifetime::inputs;
    program.ops[1].predicate = whole(program, flag, Role::step_inputs);
}

TEST(Simulate, SkipsACollectiveOnAllMembersAlike) {
    auto hand = summing(2);
    set_predicate(hand, 0);
    set_predicate(hand, 1);

    EXPECT_EQ(hand.report(), "");
}

TEST(Simulate, FindsAPredicateThatOneMemberLacks) {
    auto hand = summing(2);
    set_predicate(hand, 1);

    EXPECT_TRUE(hand.finds(FindingKind::collective_mismatch)) << hand.report();
}

TEST(Simulate, FindsAPredicateThatIsUsedBeforeItIsWritten) {
    auto hand = summing(1);
    auto& program = hand.of(0);
    const int flag = hand.buffer(0, 16);
    program.ops[1].predicate = whole(program, flag, Role::update_inputs);

    EXPECT_TRUE(hand.finds(FindingKind::unwritten_read)) << hand.report();
}

TEST(Simulate, LetsOneRankAddPositionsBehindTilesThatAllSum) {
    auto spec = test::small_spec("gpt2");
    spec.parallel.tensor = spec.parallel.ranks = 2;
    spec.tiers.tiles = {{.match = "embedding.token", .in = 1, .out = 2}};
    const ExpectedResults truth{spec};

    EXPECT_EQ(simulate(test::programs_of_all_ranks(spec), &truth, {.steps = 2}).report(), "");
}

}  // namespace
}  // namespace ziggurat::schedule
