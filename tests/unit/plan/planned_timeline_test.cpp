#include "plan/simulator/planned_timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/planned_time.hpp"
#include "tests/unit/plan/small_machine.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

spec::RunSpec staged(int stages, std::int64_t micro_batches) {
    auto run = test::small_spec("llama");
    run.model.layers = 2 * stages;
    run.parallel.stages = run.parallel.ranks = run.parallel.ranks_per_node = stages;
    run.train.micro_batches = micro_batches;
    run.train.global_batch = 2 * micro_batches;
    return run;
}

TEST(PlannedTimeline, HasEveryOpOfOneRankOfEachStage) {
    const auto run = staged(4, 6);

    const auto timeline = planned_timeline(run, test::small_machine());

    EXPECT_EQ(timeline.reduced, "");
    ASSERT_EQ(timeline.ranks.size(), 4U);
    EXPECT_NEAR(timeline.step_seconds, simulated_step_seconds(run, test::small_machine()), 1e-9);
    EXPECT_NEAR(timeline.step_seconds, planned_time(run, test::small_machine()).step_seconds,
                0.02 * timeline.step_seconds);
    for (std::size_t i = 0; i < 4; ++i) {
        const auto& rank = timeline.ranks[i];
        EXPECT_EQ(rank.stage, static_cast<int>(i));
        ASSERT_EQ(rank.times.size(), rank.program.ops.size());
        for (const auto& op : rank.times) {
            EXPECT_LE(op.begin, op.end);
            EXPECT_LT(op.end, 2 * timeline.step_seconds);
        }
    }
    // The last stage waits for the first forward pass of the others.
    const auto first_begin = [&](std::size_t rank) {
        double first = 1;
        for (std::size_t op = 0; op < timeline.ranks[rank].times.size(); ++op) {
            if (timeline.ranks[rank].program.ops[op].flops > 0) {
                first = std::min(first, timeline.ranks[rank].times[op].begin);
            }
        }
        return first;
    };
    EXPECT_GT(first_begin(3), first_begin(0));
}

TEST(PlannedTimeline, NamesWhatItLeavesOutOfALargeRun) {
    auto run = staged(2, 400);

    const auto timeline = planned_timeline(run, test::small_machine());

    EXPECT_EQ(timeline.reduced, "6 of 400 micro-batches, 2 of 2 stages, without waits for each other");
    EXPECT_EQ(timeline.ranks.size(), 2U);
}

/// Returns an op of the planned rank that reads `buffers`.
schedule::Op op_on(std::initializer_list<int> buffers) {
    schedule::Op op;
    for (const int buffer : buffers) {
        op.reads.push_back({schedule::BufferId{buffer}, schedule::Role::input, {}});
    }
    return op;
}

TEST(MemoryCurve, HoldsStateAlwaysAndTransientBuffersWhileTheyLive) {
    TimelineRank rank;
    rank.program.add_buffer({.name = "state", .bytes = 100, .lifetime = schedule::Lifetime::persistent});
    rank.program.add_buffer({.name = "activation", .bytes = 10});
    rank.program.add_buffer({.name = "fetched ahead", .bytes = 1});
    rank.program.add_buffer({.name = "on the host", .tier = spec::Tier::host, .bytes = 7});
    rank.program.ops = {{op_on({2, 3}), op_on({0, 1, 2}), op_on({1})}};
    rank.times = {{-1, -0.5, {}}, {1, 2, {}}, {2.5, 3, {}}};

    const auto curve = memory_curve(rank, spec::Tier::device, 4);

    // The fetch for the next step begins one second before the end.
    EXPECT_EQ(curve.seconds, (std::vector<double>{0, 1, 2, 3}));
    EXPECT_EQ(curve.bytes, (std::vector<double>{101, 111, 110, 101}));
    EXPECT_EQ(curve.max(), 111);
    EXPECT_EQ(memory_curve(rank, spec::Tier::host, 4).max(), 7);
    EXPECT_EQ(memory_curve(rank, spec::Tier::nvme, 4).max(), 0);
}

TEST(MemoryCurve, OfARunIsBetweenItsStateAndAllItsBuffers) {
    auto run = test::small_spec("llama");
    run.model.layers = 4;
    const auto timeline = planned_timeline(run, test::small_machine());
    const auto& rank = timeline.ranks.front();
    double persistent = 0;
    double all = 0;
    for (const auto& buffer : rank.program.buffers) {
        if (buffer.tier == spec::Tier::device) {
            const auto bytes = static_cast<double>(buffer.bytes);
            persistent += buffer.lifetime == schedule::Lifetime::transient ? 0 : bytes;
            all += bytes;
        }
    }

    const auto curve = memory_curve(rank, spec::Tier::device, timeline.step_seconds);

    EXPECT_TRUE(std::ranges::is_sorted(curve.seconds));
    EXPECT_LE(curve.seconds.back(), timeline.step_seconds);
    EXPECT_GE(*std::ranges::min_element(curve.bytes), persistent);
    EXPECT_GT(curve.max(), persistent);
    EXPECT_LT(curve.max(), all) << "not all buffers at one time";
}

}  // namespace
}  // namespace ziggurat::plan
