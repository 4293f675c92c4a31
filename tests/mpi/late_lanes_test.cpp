/// What a rank does while a stream is late: it polls, and throttled links wait for it.
#include <gtest/gtest.h>

#include "tests/support/hand_device.hpp"
#include "tests/support/rank_test.hpp"
#include "train/step/executor.hpp"
#include "train/step/throttle.hpp"

namespace ziggurat::train {
namespace {

schedule::Program one_op(schedule::Engine engine) {
    schedule::Program program;
    schedule::Op op;
    op.lane = program.lane(engine);
    op.label = "op";
    program.ops.push_back(op);
    return program;
}

TEST(LateLanes, ArePolledWhileTheyAreUnderWay) {
    const auto program = one_op(schedule::Engine::compute);
    comm::NodeMemory node{test::world(), {}};
    ASSERT_FALSE(node.must_poll());
    test::HandDevice device;
    const auto stream = device.make_stream();
    {
        Executor executor{program, {{.run = [] {}}}, {}, 60, &node, {stream}};
        executor.run_step();
        EXPECT_TRUE(node.must_poll());
        device.when_asked = [&] { device.do_all(); };
        executor.finish();
        EXPECT_FALSE(node.must_poll());
        device.when_asked = {};
        executor.run_step();
        EXPECT_TRUE(node.must_poll());
    }
    EXPECT_FALSE(node.must_poll());
}

TEST(LateLanes, HoldAThrottledLinkUntilItsBytesHaveMoved) {
    const auto program = one_op(schedule::Engine::host_to_device);
    comm::NodeMemory node{test::world(), {}};
    LinkThrottle throttle{{.host_to_device = 1e18}, node};
    test::HandDevice device;
    const auto stream = device.make_stream();
    const auto copy = throttle.applied_to(program, program.ops.front(), stream,
                                          {.run = [&] { device.queue(0).call([] {}, 1000); }});

    copy.start();
    EXPECT_FALSE(copy.poll());
    device.do_all();

    EXPECT_TRUE(copy.poll());
    EXPECT_EQ(copy.ended_ns(), device.now_ns);
}

}  // namespace
}  // namespace ziggurat::train
