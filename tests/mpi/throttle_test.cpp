/// Throttled links between tiers and throttled layers: end times of ops, and the work of a rank until
/// then.
#include <gtest/gtest.h>
#include <time.h>

#include <functional>
#include <iterator>
#include <tuple>
#include <vector>

#include "base/clock.hpp"
#include "tests/support/device/hand_device.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"
#include "train/ops/layer_throttle.hpp"
#include "train/ops/throttle.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;
using schedule::OpKind;

constexpr double mebibyte = 1 << 20;
const device::Stream host{1};

/// Returns copies of 1 MiB to the device, all ready at once, and a computation that needs the last of
/// them.
schedule::Program copies_and_a_use(int num_copies) {
    schedule::Program program;
    schedule::Buffer there;
    there.name = "there";
    there.bytes = 1 << 20;
    const int buffer = program.add_buffer(there);
    for (int i = 0; i < num_copies; ++i) {
        schedule::Op copy;
        copy.kind = OpKind::copy;
        copy.lane = program.lane(Engine::host_to_device);
        copy.writes = {schedule::whole(program, buffer, schedule::Role::output)};
        copy.label = "copy";
        program.ops.push_back(copy);
    }
    schedule::Op use;
    use.kind = OpKind::compute;
    use.lane = program.lane(Engine::compute);
    use.waits_for = {num_copies - 1};
    use.label = "use";
    program.ops.push_back(use);
    return program;
}

double processor_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Timed {
    double seconds = 0;
    double processor_seconds = 0;
    int end_wait = 0;
};

/// Runs one step of that program.
Timed run(const spec::Throttle& rates, int num_copies) {
    comm::NodeMemory node{test::world(), {}};
    const auto program = copies_and_a_use(num_copies);
    LinkThrottle throttle{rates, node};
    Timed timed;
    std::vector<Action> actions;
    for (int i = 0; i < num_copies; ++i) {
        const auto& op = program.ops[static_cast<std::size_t>(i)];
        actions.push_back(throttle.applied_to(program, op, host, {.run = [&timed] { ++timed.end_wait; }}));
    }
    actions.push_back({.run = [] {}});
    Executor executor{program, std::move(actions), {}, 60, &node};
    const auto begin_ns = monotonic_ns();
    const double processor = processor_seconds();

    executor.run_step();

    timed.seconds = seconds_between(begin_ns, monotonic_ns());
    timed.processor_seconds = processor_seconds() - processor;
    return timed;
}

TEST(Throttle, LetsOpsOfALaneEndNoSoonerThanTheirBytesAllow) {
    const auto timed = run({.host_to_device = 100 * mebibyte}, 20);

    EXPECT_EQ(timed.end_wait, 20);
    EXPECT_GE(timed.seconds, 0.2);
}

TEST(Throttle, UsesNoCoreMeanwhile) {
    const auto timed = run({.host_to_device = 2 * mebibyte}, 1);

    EXPECT_GE(timed.seconds, 0.5);
    EXPECT_LT(timed.processor_seconds, 0.5 * timed.seconds);
}

TEST(Throttle, LeavesOtherLanesAlone) {
    const auto program = copies_and_a_use(1);
    comm::NodeMemory node{test::world(), {}};
    LinkThrottle throttle{{.nvme_read = 1}, node};

    EXPECT_FALSE(throttle.applied_to(program, program.ops.front(), host, {.run = [] {}}).is_asynchronous());
}

TEST(Throttle, LetsControlValuesThrough) {
    auto program = copies_and_a_use(1);
    comm::NodeMemory node{test::world(), {}};
    LinkThrottle throttle{{.host_to_device = 1}, node};
    const auto is_held_up = [&] {
        return throttle.applied_to(program, program.ops.front(), host, {.run = [] {}}).is_asynchronous();
    };

    EXPECT_TRUE(is_held_up());
    program.ops.front().purpose = schedule::Purpose::control;
    EXPECT_FALSE(is_held_up());
}

TEST(Throttle, CountsTheBytesThatARankReceivesOverTheTensorAxis) {
    comm::NodeMemory node{test::world(), {}};
    LinkThrottle throttle{{.tensor = mebibyte / 100}, node};
    schedule::Program program;
    const int group = program.group("tensor", {0, 1, 2, 3});
    program.groups.front().my_index = 1;
    schedule::Buffer vector;
    vector.bytes = 4 << 20;
    const int buffer = program.add_buffer(vector);
    schedule::Op op;
    op.lane = program.lane(Engine::collective, group);
    op.group = group;
    op.purpose = schedule::Purpose::tensor;
    op.writes = {schedule::whole(program, buffer, schedule::Role::output)};
    // Blocks of 0, 2, 1 and 1 MiB.
    op.blocks = {{0, 0}, {0, 2 << 20}, {2 << 20, 1 << 20}, {3 << 20, 1 << 20}};
    std::int64_t ended_ns = 0;
    for (const auto& [kind, mebibytes] :
         {std::pair{OpKind::all_gather, 2}, std::pair{OpKind::reduce_scatter, 6},
          std::pair{OpKind::all_reduce, 8}}) {
        op.kind = kind;
        const auto action = throttle.applied_to(program, op, host, {.run = [] {}});
        const auto begin_ns = std::max(ended_ns, monotonic_ns());
        action.start();
        const auto expected_ns = begin_ns + mebibytes * std::int64_t{100'000'000'000};
        EXPECT_GE(action.ended_ns(), expected_ns);
        EXPECT_LE(action.ended_ns(),
                  std::max(ended_ns, monotonic_ns()) + mebibytes * std::int64_t{100'000'000'000});
        ended_ns = action.ended_ns();
    }
    op.purpose = schedule::Purpose::parameters;
    EXPECT_FALSE(throttle.applied_to(program, op, host, {.run = [] {}}).is_asynchronous());
}

TEST(Throttle, LetsWhatPassesWaitForPassTheOpsForUpdates) {
    auto program = copies_and_a_use(4);
    for (const std::size_t i : {0, 1}) {
        program.ops[i].lane = program.update_lane(Engine::host_to_device);
    }
    comm::NodeMemory node{test::world(), {}};
    LinkThrottle throttle{{.host_to_device = mebibyte / 100}, node};
    constexpr std::int64_t duration_ns = 100'000'000'000;
    std::vector<Action> actions;
    for (std::size_t i = 0; i < 4; ++i) {
        actions.push_back(throttle.applied_to(program, program.ops[i], host, {.run = [] {}}));
    }
    const auto& [update, next_update, copy, next_copy] =
        std::tie(actions[0], actions[1], actions[2], actions[3]);
    update.start();
    next_update.start();
    const auto ended_alone_ns = update.ended_ns();

    copy.start();
    next_copy.start();

    EXPECT_LE(copy.ended_ns(), monotonic_ns() + duration_ns);
    EXPECT_EQ(next_copy.ended_ns(), copy.ended_ns() + duration_ns);
    EXPECT_EQ(update.ended_ns(), ended_alone_ns + 2 * duration_ns);
    EXPECT_EQ(next_update.ended_ns(), update.ended_ns() + duration_ns);
}

TEST(Throttle, LeavesTheBitsOfATrainingAlone) {
    const test::ScratchFolder folder;
    const int ranks = test::world().size();
    auto run = test::tiny_run("llama", ranks, 2, 3);
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = ranks;
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    run.recompute.kind = spec::RecomputeKind::full;
    run.overlap.prefetch = 2;
    const auto expected = test::train_on_host(run, test::world());
    run.tiers.nvme_paths = {folder.path()};
    run.tiers.nvme_verify = true;
    run.tiers.chunk_elements = 4096;
    run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer = run.tiers.activations = {0, 0, 1};
    run.debug.throttle = {.nvme_read = 300e6,
                          .nvme_write = 200e6,
                          .host_to_device = 1e9,
                          .device_to_host = 5e8,
                          .compute = 1e-4};

    const auto ours = test::train_tiny(run, test::world(), test::Keep::nothing);

    EXPECT_EQ(ours.losses, expected.losses);
    EXPECT_EQ(ours.norms, expected.norms);
    EXPECT_EQ(ours.weights_hash, expected.weights_hash);
}

/// Returns a forward and a backward pass of one layer, two ops each, with a loss between them.
schedule::Program one_layer() {
    schedule::Program program;
    program.layers = 1;
    const auto add = [&](int unit, OpKind kind, schedule::Direction direction) {
        schedule::Op op;
        op.kind = kind;
        op.lane = program.lane(Engine::compute);
        op.unit = unit;
        op.microbatch = 0;
        op.direction = direction;
        op.label = "op";
        program.ops.push_back(op);
    };
    add(1, OpKind::compute, schedule::Direction::forward);
    add(1, OpKind::compute, schedule::Direction::forward);
    add(2, OpKind::loss, schedule::Direction::none);
    add(1, OpKind::compute, schedule::Direction::recompute);
    add(1, OpKind::compute, schedule::Direction::backward);
    return program;
}

/// Runs one step of it. `ran` is called for each op with the executor that runs it.
Timed run_layer(double seconds, const std::function<void(Executor&, int)>& ran = {}) {
    comm::NodeMemory node{test::world(), {}};
    const auto program = one_layer();
    LayerThrottle throttle{seconds, node};
    Timed timed;
    Executor* running = nullptr;
    std::vector<Action> actions;
    for (int op = 0; op < std::ssize(program.ops); ++op) {
        actions.push_back({.run = [&, op] {
            ++timed.end_wait;
            if (ran) {
                ran(*running, op);
            }
        }});
    }
    throttle.hold_layers(program, {}, actions);
    Executor executor{program, std::move(actions), {}, 60, &node};
    running = &executor;
    const auto begin_ns = monotonic_ns();
    const double processor = processor_seconds();

    executor.run_step();

    timed.seconds = seconds_between(begin_ns, monotonic_ns());
    timed.processor_seconds = processor_seconds() - processor;
    return timed;
}

TEST(LayerThrottle, LetsALayerLastThatLongForwardAndTwiceThatBackward) {
    std::vector<std::int64_t> at_ns(5);

    const auto timed =
        run_layer(0.1, [&](Executor&, int op) { at_ns[static_cast<std::size_t>(op)] = monotonic_ns(); });

    EXPECT_EQ(timed.end_wait, 5);
    EXPECT_GE(at_ns[1] - at_ns[0], 99'000'000) << "from when the first op began, a little before";
    EXPECT_GE(at_ns[4] - at_ns[3], 199'000'000);
    EXPECT_LT(timed.processor_seconds, 0.5 * timed.seconds) << "it sleeps";
}

TEST(LayerThrottle, HoldsNothingOfAStepThatIsGivenUp) {
    const auto timed = run_layer(3600, [](Executor& executor, int op) {
        if (op == 0) {
            executor.abandon_step();
        }
    });

    EXPECT_EQ(timed.end_wait, 1);
}

TEST(LayerThrottle, CountsFromWhenADeviceBegins) {
    const auto program = one_layer();
    comm::NodeMemory node{test::world(), {}};
    LayerThrottle throttle{1e-9, node};
    test::HandDevice device;
    device.now_ns = 0;
    const auto stream = device.make_stream();
    std::vector<Action> actions(program.ops.size());
    throttle.hold_layers(program, {stream}, actions);
    device.queue(0).call([] {}, 1000);

    EXPECT_TRUE(actions[0].may_begin());
    EXPECT_FALSE(actions[1].may_begin()) << "what is in front of the layer is not done";
    device.do_all();

    EXPECT_TRUE(actions[1].may_begin());
}

TEST(Throttle, IsDescribedByItsRates) {
    EXPECT_EQ(describe(spec::Throttle{}), "");
    EXPECT_EQ(describe(spec::Throttle{.nvme_read = 400e6, .device_to_host = 2.5e9}),
              "nvme_read 400 MB/s, device_to_host 2500 MB/s");
    EXPECT_EQ(describe(spec::Throttle{.compute = 0.02}), "compute 20 ms");
}

}  // namespace
}  // namespace ziggurat::train
