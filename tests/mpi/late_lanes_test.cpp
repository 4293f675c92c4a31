/// Behaviour of a rank whose stream is late.
///
/// It polls; throttled links wait for the stream; bytes count once they have moved; failures name their op;
/// and an evaluation continues between its passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "device/emulated/emulated_device.hpp"
#include "schedule/volumes/link_traffic.hpp"
#include "tests/support/device/hand_device.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"
#include "train/ops/bind_transfers.hpp"
#include "train/ops/throttle.hpp"
#include "train/step/executor.hpp"

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

TEST(LateLanes, SayWhichThrottledCopyHasFailed) {
    const auto program = one_op(schedule::Engine::host_to_device);
    comm::NodeMemory node{test::world(), {}};
    LinkThrottle throttle{{.host_to_device = 1e18}, node};
    test::HandDevice device;
    const auto stream = device.make_stream();
    const auto fails = [&] {
        device.queue(0).call([] { throw Error{ErrorKind::resource, "the device is gone"}; }, 0);
    };
    Executor executor{program, {throttle.applied_to(program, program.ops.front(), stream, {.run = fails})},
                      {},      60,
                      &node,   {stream}};
    executor.run_step();
    device.when_asked = [&] { device.do_all(); };

    try {
        executor.finish();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        EXPECT_STREQ(error.what(), "'op' failed: the device is gone");
    }
}

TEST(LateLanes, CountBytesWhenTheyHaveMoved) {
    schedule::Program program;
    for (const auto tier : {spec::Tier::host, spec::Tier::device}) {
        schedule::Buffer buffer;
        buffer.tier = tier;
        buffer.bytes = 4096;
        buffer.lifetime = schedule::Lifetime::persistent;
        buffer.offset = 0;
        buffer.name = spec::Tier::host == tier ? "of the host" : "of the device";
        program.buffers.push_back(buffer);
        program.arena_bytes[static_cast<std::size_t>(tier)] = 4096;
    }
    schedule::Op op;
    op.kind = schedule::OpKind::copy;
    op.lane = program.lane(schedule::Engine::host_to_device);
    op.reads = {schedule::whole(program, 0, schedule::Role::input)};
    op.writes = {schedule::whole(program, 1, schedule::Role::output)};
    program.ops.push_back(op);
    device::EmulatedDevice device{{.mode = device::EmulatedDevice::Mode::polled, .seed = 1}};
    const state::TierMemory memory{{&program}, 1, device};
    const auto stream = device.make_stream();
    std::int64_t copied = 0;
    Executor executor{program, {bind_copy(program, op, memory, stream, copied)}, {}, 60, nullptr, {stream}};
    for (int step = 1; step < 10; ++step) {
        executor.run_step();
        while (!executor.is_drained()) {
            EXPECT_EQ(executor.bytes_moved(0), 4096 * (step - 1)) << "it is not known to be done";
            executor.advance();
        }
        EXPECT_EQ(executor.bytes_moved(0), 4096 * step);
    }
}

device::RankDevices polled_device() {
    return {std::make_shared<device::EmulatedDevice>(
                device::EmulatedDevice::Options{.mode = device::EmulatedDevice::Mode::polled, .seed = 1}),
            device::Stream{1}};
}

TEST(LateLanes, SayWhichOpOfATrainingHasFailed) {
    const auto run = test::tiny_run("gpt2", 1, 1, 1);
    const auto devices = polled_device();
    Assembly assembly{run, test::world(), devices};
    std::ranges::fill(assembly.train_slots().front().tokens, 1'000'000);  // detected by the kernel, late
    auto& executor = assembly.train_executor();
    const auto& program = executor.program();
    const auto failing = std::ranges::find_if(program.ops, [&](const schedule::Op& op) {
        return op.kind == schedule::OpKind::compute && program.find_read(op, schedule::Role::tokens);
    });
    ASSERT_NE(failing, program.ops.end());

    try {
        executor.run_step();
        executor.finish();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::internal);
        EXPECT_TRUE(std::string{error.what()}.starts_with("'" + failing->label + "' failed: "))
            << error.what();
    }
}

/// Returns the programs of `run`; the evaluation ends with a copy to the device that no op waits for.
Programs with_a_last_copy(const spec::RunSpec& run) {
    auto programs = build_programs(run, 0);
    auto& evaluate = programs.evaluate;
    const auto is_fetch = [&](const schedule::Op& op) {
        return schedule::link_of(op, evaluate) == schedule::Link::host_to_device && schedule::moves_state(op);
    };
    const auto fetch = std::ranges::find_if(evaluate.ops, is_fetch);
    EXPECT_NE(fetch, evaluate.ops.end());
    auto last = *fetch;
    const int computed = evaluate.lane(schedule::Engine::compute);
    for (std::size_t i = 0; i < evaluate.ops.size(); ++i) {
        if (evaluate.ops[i].lane == computed) {
            last.waits_for = {static_cast<int>(i)};
        }
    }
    evaluate.ops.push_back(last);
    return programs;
}

TEST(LateLanes, OfAnEvaluationGoOnWhileRanksAgreeWhetherToStop) {
    auto run = test::tiny_run("gpt2", 1, 1, 1);
    run.tiers.parameters = {0, 1, 0};
    const device::RankDevices devices{
        std::make_shared<device::EmulatedDevice>(
            device::EmulatedDevice::Options{.mode = device::EmulatedDevice::Mode::polled, .seed = 1}),
        device::Stream{1}};
    Assembly assembly{run, with_a_last_copy(run), test::world(), devices};
    auto& evaluator = assembly.evaluator();
    int left_over = 0;
    for (int pass = 0; pass < 30; ++pass) {
        evaluator.run_step();
        left_over += evaluator.is_drained() ? 0 : 1;
        for (int i = 0; i < 10'000 && !evaluator.is_drained(); ++i) {
            assembly.world().waits().make_progress();
        }
        ASSERT_TRUE(evaluator.is_drained());
    }
    EXPECT_GT(left_over, 0);
}

}  // namespace
}  // namespace ziggurat::train
