/// Ops that are held back although all their dependencies are complete.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "tests/unit/train/step/late_rig.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;
using test::LateRig;

/// Adds an op of the host, which computes when it is run.
void add_host_op(LateRig& rig) {
    schedule::Op op;
    op.lane = rig.program.lane(Engine::host_optimizer);
    op.label = "op " + std::to_string(rig.program.ops.size());
    if (op.lane == std::ssize(rig.streams)) {
        rig.streams.emplace_back(1);
    }
    rig.actions.push_back(
        {.run = [&rig, name = std::to_string(rig.program.ops.size())] { rig.log += " run" + name; }});
    rig.program.ops.push_back(op);
}

/// Runs a step and returns its work by op.
std::map<int, LaneRecord> do_step(Executor& executor) {
    std::map<int, LaneRecord> work;
    const auto keep = [&] {
        for (const auto& record : executor.records()) {
            if (record.cause < 0) {
                work[record.op] = record;
            }
        }
    };
    executor.run_step();
    keep();
    executor.finish();
    keep();
    return work;
}

TEST(HeldOps, LetOtherLanesGoOn) {
    LateRig rig{1};
    add_host_op(rig);
    rig.add(Engine::collective, {}, {0});
    std::int64_t first_asked_ns = 0;
    rig.actions[0].may_begin = [&] {
        first_asked_ns = first_asked_ns == 0 ? monotonic_ns() : first_asked_ns;
        return rig.log.find("end1") != std::string::npos;
    };
    rig.actions[0].hold_reason = "the other lane";
    auto executor = rig.make();

    const auto work = do_step(executor);

    EXPECT_EQ(rig.log, " start1 end1 run0");
    EXPECT_LE(work.at(0).begin_ns, first_asked_ns) << "the time until then counts to it";
}

TEST(HeldOps, AreStartedOnlyThen) {
    LateRig rig{1};
    rig.add(Engine::host_optimizer, {}, {0});
    rig.actions[0].began_ns = [] { return monotonic_ns(); };
    std::int64_t first_asked_ns = 0;
    int asked = 0;
    rig.actions[0].may_begin = [&] {
        first_asked_ns = first_asked_ns == 0 ? monotonic_ns() : first_asked_ns;
        return ++asked == 3;
    };
    auto executor = rig.make();

    const auto work = do_step(executor);

    EXPECT_EQ(asked, 3);
    EXPECT_EQ(rig.log, " start0 end0");
    EXPECT_LE(work.at(0).begin_ns, first_asked_ns);
}

TEST(HeldOps, AreAskedAgainInEachStep) {
    LateRig rig{1};
    add_host_op(rig);
    int asked = 0;
    rig.actions[0].may_begin = [&] { return ++asked % 2 == 0; };
    auto executor = rig.make();
    std::int64_t ended_ns = 0;
    for (int step = 0; step < 3; ++step) {
        const auto work = do_step(executor);
        EXPECT_GE(work.at(0).begin_ns, ended_ns);
        ended_ns = work.at(0).end_ns;
    }

    EXPECT_EQ(asked, 6);
    EXPECT_EQ(rig.log, " run0 run0 run0");
}

TEST(HeldOps, AreNotGivenToADevice) {
    LateRig rig{1};
    const int before = rig.add(Engine::compute, {}, {0}, 1000);
    const int held = rig.add(Engine::compute, {0}, {}, 1000);
    int asked = 0, polls = 0;
    rig.actions.back().may_begin = [&] {
        rig.device.now_ns += 500;
        return ++asked > 5;
    };
    auto executor = rig.make();
    rig.device.when_asked = [&] {
        if (++polls > 1) {
            rig.device.do_all();
        }
    };

    const auto work = do_step(executor);

    EXPECT_EQ(rig.log, " issue0 did0 issue1 did1");
    EXPECT_EQ(work.at(held).begin_ns, work.at(before).end_ns) << "its stream has stood in front of it";
}

TEST(HeldOps, SayWhatTheyWaitFor) {
    LateRig rig{1};
    add_host_op(rig);
    rig.actions[0].may_begin = [] { return false; };
    rig.actions[0].hold_reason = "a free place";
    auto executor = rig.make(0);
    executor.run_step();

    try {
        executor.finish();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::communication);
        EXPECT_NE(std::string{error.what()}.find("for 'a free place' before 'op 0'"), std::string::npos)
            << error.what();
    }
}

}  // namespace
}  // namespace ziggurat::train
