/// Lanes with delayed streams: the distance by which issuing is ahead of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/unit/train/step/late_rig.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;
using test::LateRig;

TEST(IssueAhead, AreNotIssuedAgainBeforeTheyAreDone) {
    LateRig rig{1};
    rig.add(Engine::compute, {}, {0});
    auto executor = rig.make();
    executor.run_step();
    rig.device.when_asked = [&] { rig.device.do_all(); };

    executor.run_step();

    EXPECT_TRUE(rig.log.starts_with(" issue0 did0 issue0")) << rig.log;
}

TEST(IssueAhead, LeaveOutWhatIsComputedOfAnAbandonedStep) {
    LateRig rig{3};
    rig.add(Engine::compute, {}, {0});
    rig.add(Engine::compute, {0}, {1});
    rig.add(Engine::compute, {1}, {2});
    rig.program.ops.back().kind = schedule::OpKind::norm;
    auto executor = rig.make();
    executor.between_ops([&] { executor.abandon_step(); });

    executor.run_step();
    rig.device.when_asked = [&] { rig.device.do_all(); };
    executor.finish();

    EXPECT_EQ(rig.log, " issue0 issue2 did0 did2");
}

/// Adds a step of many small ops on one lane, each after the previous one.
void add_chain(LateRig& rig, int num_ops, schedule::OpKind kind) {
    for (int i = 0; i < num_ops; ++i) {
        rig.add(Engine::compute, {0}, {0});
        rig.program.ops.back().kind = kind;
    }
}

std::int64_t num_of(const std::string& log, const std::string& word) {
    std::int64_t found = 0;
    for (auto at = log.find(word); at != std::string::npos; at = log.find(word, at + 1)) {
        ++found;
    }
    return found;
}

TEST(IssueAhead, LeavesWhatComputesForLaterWhereAStepMayBeGivenUp) {
    LateRig rig{1};
    add_chain(rig, 200, schedule::OpKind::compute);
    auto executor = rig.make();
    std::int64_t max_ahead = 0, asked = 0;
    rig.device.when_asked = [&] {
        max_ahead = std::max(max_ahead, num_of(rig.log, " issue") - num_of(rig.log, " did"));
        if (++asked % 3 == 0) {
            rig.queue_of(0).do_next();
        }
    };

    executor.run_step();
    executor.finish();

    EXPECT_EQ(num_of(rig.log, " did"), 200);
    EXPECT_GE(max_ahead, 8) << "the device always has something to do";
    EXPECT_LE(max_ahead, 20);
}

TEST(IssueAhead, LetsAStepEndSoonAfterItIsGivenUp) {
    LateRig rig{1};
    add_chain(rig, 200, schedule::OpKind::compute);
    auto executor = rig.make();
    int asked = 0;
    rig.device.when_asked = [&] {
        if (++asked % 3 == 0) {
            rig.queue_of(0).do_next();
        }
    };
    executor.between_ops([&] {
        if (rig.log.find(" did5 ") != std::string::npos) {
            executor.abandon_step();
        }
    });

    executor.run_step();
    executor.finish();

    EXPECT_LE(num_of(rig.log, " did"), 30);
}

TEST(IssueAhead, GivesADeviceAtOnceWhatIsDoneInAnyCase) {
    LateRig rig{1};
    add_chain(rig, 200, schedule::OpKind::update);
    auto executor = rig.make();

    executor.run_step();

    EXPECT_EQ(num_of(rig.log, " issue"), 200);
    EXPECT_EQ(num_of(rig.log, " did"), 0);
}

}  // namespace
}  // namespace ziggurat::train
