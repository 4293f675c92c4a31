/// Lanes with delayed streams: order of issuing, and the clock that measures the end of work.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "tests/unit/train/step/late_rig.hpp"
#include "train/account/op_account.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;
using test::LateRig;

/// Returns the records of work by op, without those of waits.
std::map<int, LaneRecord> work_of(const Executor& executor) {
    std::map<int, LaneRecord> found;
    for (const auto& record : executor.records()) {
        if (record.cause < 0) {
            EXPECT_FALSE(found.contains(record.op));
            found[record.op] = record;
        }
    }
    return found;
}

std::vector<LaneRecord> waits_of(const Executor& executor) {
    std::vector<LaneRecord> found;
    std::ranges::copy_if(executor.records(), std::back_inserter(found),
                         [](const LaneRecord& record) { return record.cause >= 0; });
    return found;
}

TEST(LateLanes, IssueWhatWaitsForWhatIsIssued) {
    LateRig rig{2};
    const int copy = rig.add(Engine::host_to_device, {}, {0});
    const int use = rig.add(Engine::compute, {0}, {1});
    rig.add(Engine::compute, {1}, {});
    auto executor = rig.make();
    auto& copies = rig.queue_of(rig.program.ops[static_cast<std::size_t>(copy)].lane);
    auto& computing = rig.queue_of(rig.program.ops[static_cast<std::size_t>(use)].lane);

    executor.run_step();

    EXPECT_EQ(rig.log, " issue0 issue1 issue2");
    EXPECT_FALSE(computing.do_next()) << "its stream waits for the copy";
    EXPECT_TRUE(copies.do_next());
    EXPECT_TRUE(computing.do_next());
    EXPECT_EQ(rig.log, " issue0 issue1 issue2 did0 did1");
}

TEST(LateLanes, WaitForTheStepBeforeOnTheirStreamsToo) {
    LateRig rig{1};
    rig.add(Engine::host_to_device, {}, {0});
    rig.add(Engine::compute, {0}, {});
    auto executor = rig.make();
    auto& copies = rig.queue_of(0);
    auto& computing = rig.queue_of(1);
    executor.run_step();
    copies.do_next();
    bool has_looked = false;
    rig.device.when_asked = [&] {
        if (!has_looked && rig.log == " issue0 issue1 did0 issue0") {
            has_looked = true;
            EXPECT_FALSE(copies.do_next()) << "what it would write is still read";
            computing.do_next();
            EXPECT_TRUE(copies.do_next());
        }
    };

    executor.run_step();

    EXPECT_TRUE(has_looked);
    EXPECT_EQ(rig.log, " issue0 issue1 did0 issue0 did1 did0 issue1");
}

TEST(LateLanes, LetTheHostWaitUntilTheyAreDone) {
    LateRig rig{2};
    rig.add(Engine::compute, {}, {0});
    rig.add(Engine::collective, {0}, {1});
    auto executor = rig.make();
    executor.run_step();

    executor.advance();
    EXPECT_EQ(rig.log, " issue0");
    rig.device.do_all();
    executor.advance();
    executor.advance();

    EXPECT_EQ(rig.log, " issue0 did0 start1 end1");
}

TEST(LateLanes, WaitThemselvesForTheHost) {
    LateRig rig{2};
    rig.add(Engine::collective, {}, {0});
    rig.add(Engine::compute, {0}, {1});
    rig.add(Engine::compute, {1}, {});
    auto executor = rig.make();

    executor.run_step();

    EXPECT_EQ(rig.log, " start0 end0 issue1 issue2");
}

TEST(LateLanes, ReturnWhenInputsAreReadAndTheEndOfTheStepIsKnown) {
    LateRig rig{4};
    auto& inputs = rig.program.buffers[0];
    inputs.lifetime = schedule::Lifetime::inputs;
    inputs.tier = spec::Tier::host;
    rig.add(Engine::compute, {}, {2});
    rig.add(Engine::device_to_host, {2}, {3});
    rig.add(Engine::step_end, {3}, {});
    rig.program.ops.back().kind = schedule::OpKind::step_end;
    rig.add(Engine::host_to_device, {0}, {1});
    rig.add(Engine::compute, {1}, {});
    auto executor = rig.make();
    int asked = 0;
    rig.device.when_asked = [&] {  // lane by lane: compute, then copies to the host, then copies back
        ++asked;
        const int lane = asked > 30 ? 3 : asked > 20 ? 1 : asked > 10 ? 0 : -1;
        if (lane >= 0 && asked % 10 == 1) {
            rig.queue_of(lane).do_next();
        }
    };

    executor.run_step();

    EXPECT_EQ(rig.log, " issue0 issue1 issue3 issue4 did0 did1 start2 end2 did3");
    rig.device.when_asked = [&] { rig.device.do_all(); };
    executor.finish();
    EXPECT_EQ(rig.log, " issue0 issue1 issue3 issue4 did0 did1 start2 end2 did3 did4");
}

TEST(LateLanes, BeginAndEndByTheClockOfTheirStreams) {
    LateRig rig{2};
    const int first = rig.add(Engine::compute, {}, {1}, 10'000);
    const int copy = rig.add(Engine::host_to_device, {}, {0}, 500'000);
    const int use = rig.add(Engine::compute, {0, 1}, {}, 30'000);
    auto executor = rig.make();
    executor.run_step();
    EXPECT_TRUE(executor.records().empty());
    const auto begin_ns = rig.device.now_ns;
    rig.device.when_asked = [&] { rig.device.do_all(); };

    executor.finish();

    const auto work = work_of(executor);
    EXPECT_EQ(work.at(first).begin_ns, begin_ns);
    EXPECT_EQ(work.at(first).end_ns, begin_ns + 10'000);
    EXPECT_EQ(work.at(copy).end_ns, begin_ns + 510'000);
    EXPECT_EQ(work.at(use).begin_ns, begin_ns + 510'000);
    EXPECT_EQ(work.at(use).end_ns, begin_ns + 540'000);
    EXPECT_EQ(work.at(use).ready_ns, begin_ns + 510'000);
    EXPECT_EQ(work.at(use).after, copy);
    const auto waits = waits_of(executor);
    ASSERT_EQ(waits.size(), 1u);
    EXPECT_EQ(waits[0].op, use);
    EXPECT_EQ(waits[0].cause, copy);
    EXPECT_EQ(waits[0].begin_ns, begin_ns + 10'000);
    EXPECT_EQ(waits[0].end_ns, begin_ns + 510'000);
}

TEST(LateLanes, RecordNoBeginOfOpsThatFollowEachOther) {
    LateRig rig{2};
    rig.add(Engine::compute, {}, {0}, 10'000);
    rig.add(Engine::compute, {0}, {0}, 20'000);
    rig.add(Engine::host_to_device, {}, {1});
    rig.add(Engine::compute, {0, 1}, {}, 40'000);
    auto executor = rig.make();
    const auto before = rig.device.num_recorded;
    const auto begin_ns = rig.device.now_ns;

    executor.run_step();

    EXPECT_EQ(rig.device.num_recorded - before, 4 + 3) << "four ends, and no begin of the second op";
    rig.device.when_asked = [&] { rig.device.do_all(); };
    executor.finish();
    const auto work = work_of(executor);
    EXPECT_EQ(work.at(1).begin_ns, begin_ns + 10'000);
    EXPECT_EQ(work.at(1).end_ns, begin_ns + 30'000);
    EXPECT_EQ(work.at(3).begin_ns, begin_ns + 30'000);
}

TEST(LateLanes, DoNotWaitWhileTheirThreadDoes) {
    LateRig rig{1};
    rig.add(Engine::compute, {}, {0}, 1'000'000);
    rig.add(Engine::compute, {0}, {}, 1'000'000);
    auto executor = rig.make();
    executor.run_step();
    int asked = 0;
    rig.device.when_asked = [&] {
        if (++asked % 100 == 0) {
            rig.queue_of(0).do_next();
        }
    };

    executor.finish();

    EXPECT_TRUE(waits_of(executor).empty());
    EXPECT_EQ(work_of(executor).size(), 2u);
}

TEST(LateLanes, TellEachTimeOfTheComputeLaneOnce) {
    LateRig rig{1};
    rig.add(Engine::compute, {}, {0}, 100'000);
    rig.add(Engine::compute, {0}, {}, 100'000);
    auto executor = rig.make();
    const auto begin_ns = rig.device.now_ns;
    executor.run_step();
    const auto first_ended_ns = executor.step_ended_ns();
    EXPECT_LT(first_ended_ns, begin_ns);  // the device's time is not known yet
    rig.queue_of(0).do_next();
    EXPECT_EQ(executor.idle_seconds_since(0), 0) << "under way";

    int asked = 0;
    rig.device.when_asked = [&] {
        if (++asked == 5) {
            rig.queue_of(0).do_next();
        }
    };
    executor.run_step();

    EXPECT_EQ(executor.step_began_ns(), first_ended_ns);
    EXPECT_EQ(executor.step_ended_ns(), begin_ns + 200'000);
    asked = 0;
    rig.device.when_asked = [&] {
        if (++asked > 2) {
            rig.device.do_all();
        }
    };
    executor.finish();
    EXPECT_EQ(executor.step_began_ns(), begin_ns + 200'000);
}

TEST(LateLanes, CallTheHookWhenTheyEndToo) {
    LateRig rig{1};
    rig.add(Engine::compute, {}, {0});
    rig.add(Engine::step_end, {0}, {});
    rig.program.ops.back().kind = schedule::OpKind::step_end;
    auto executor = rig.make();
    executor.between_ops([&] { rig.log += " hook"; });
    rig.device.when_asked = [&] {
        if (rig.log == " issue0 hook") {
            rig.device.do_all();
        }
    };

    executor.run_step();

    EXPECT_EQ(rig.log, " issue0 hook did0 hook start1 end1") << "before the step's end takes requests along";
}

TEST(LateLanes, AddUpInTheAccount) {
    LateRig rig{2};
    rig.add(Engine::compute, {}, {1}, 1'000'000);
    rig.add(Engine::host_to_device, {}, {0}, 500'000);
    rig.add(Engine::compute, {0, 1}, {}, 2'000'000);
    std::int64_t num_issued = 0;
    rig.actions.back().run = [&, run = rig.actions.back().run] {
        run();
        ++num_issued;
    };
    auto times = times_of_one(rig.program);
    auto executor = rig.make();
    executor.keep_times_in(times.own());
    TimeAccounting account;
    const layout::FamilyTable table;
    OpAccount ops{rig.program, table, times, account};
    double compute_s = 0, stall_s = 0, reported_s = 0;
    const auto add = [&] {
        StepReport report;
        ops.add(executor, {}, report);
        compute_s += report.compute_s;
        stall_s += report.stall(Stall::host_to_device);
        reported_s += seconds_between(executor.step_began_ns(), executor.step_ended_ns());
    };
    executor.run_step();
    add();
    rig.device.now_ns = executor.step_ended_ns();
    rig.device.when_asked = [&] {
        if (num_issued < executor.steps_begun()) {  // the lane has work in progress when the step returns
            rig.device.do_all();
        }
    };

    for (int step = 1; step < 4; ++step) {
        executor.run_step();
        add();
    }

    EXPECT_NEAR(compute_s, 10e-3, 1e-9);  // three steps, and the first op of the fourth
    EXPECT_NEAR(stall_s, 1.5e-3, 1e-9);
    EXPECT_NEAR(reported_s, compute_s + stall_s, 1e-9);
    rig.device.when_asked = [&] { rig.device.do_all(); };
    executor.finish();
}

}  // namespace
}  // namespace ziggurat::train
