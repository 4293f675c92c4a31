#include "plan/simulator/step_time.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "schedule/place/derive_dependencies.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Engine;
using schedule::Op;
using schedule::OpKind;
using schedule::Program;

constexpr std::int64_t size = 1000;

int add_buffer(Program& program, spec::Tier tier) {
    schedule::Buffer made;
    made.tier = tier;
    made.bytes = size;
    made.lifetime = schedule::Lifetime::persistent;
    return program.add_buffer(std::move(made));
}

void place_in_turn(Program& program) {
    std::int64_t end = 0;
    for (auto& placed : program.buffers) {
        placed.offset = end;
        end += placed.bytes;
    }
}

/// Returns a program with units that are copied to the device and computed there, `flops` each.
///
/// A unit's copy is issued `ahead` units before it.
Program fetching(const std::vector<double>& flops, std::size_t ahead) {
    Program program;
    const int home = add_buffer(program, spec::Tier::host);
    const int result = add_buffer(program, spec::Tier::device);
    std::vector<int> staged;
    for (std::size_t unit = 0; unit <= ahead; ++unit) {
        staged.push_back(add_buffer(program, spec::Tier::device));
    }
    const auto fetch = [&](std::size_t unit) {
        Op op;
        op.kind = OpKind::copy;
        op.lane = program.lane(Engine::host_to_device);
        op.reads = {whole(program, home, schedule::Role::input)};
        op.writes = {whole(program, staged[unit % staged.size()], schedule::Role::output)};
        program.ops.push_back(op);
    };
    const auto compute = [&](std::size_t unit) {
        Op op;
        op.lane = program.lane(Engine::compute);
        op.flops = flops[unit];
        op.reads = {whole(program, staged[unit % staged.size()], schedule::Role::input)};
        op.writes = {whole(program, result, schedule::Role::output)};
        program.ops.push_back(op);
    };
    for (std::size_t unit = 0; unit < flops.size() + ahead; ++unit) {
        if (unit < flops.size()) {
            fetch(unit);
        }
        if (unit >= ahead) {
            compute(unit - ahead);
        }
    }
    place_in_turn(program);
    schedule::derive_dependencies(program);
    return program;
}

/// Returns a program with units that are read, computed and written; every second one is an update.
Program passing(int units) {
    Program program;
    const auto add = [&](int lane, int from, int to) {
        const auto engine = program.lanes[static_cast<std::size_t>(lane)].engine;
        Op op;
        op.kind = engine == Engine::compute ? OpKind::compute : OpKind::copy;
        op.lane = lane;
        op.flops = engine == Engine::compute ? 1e-6 : 0;
        op.reads = {whole(program, from, schedule::Role::input)};
        op.writes = {whole(program, to, schedule::Role::output)};
        program.ops.push_back(op);
    };
    for (int unit = 0; unit < units; ++unit) {
        const int file = add_buffer(program, spec::Tier::nvme);
        const int host = add_buffer(program, spec::Tier::host);
        const bool is_for_update = unit % 2 == 1;
        const auto lane = [&](Engine engine) {
            return is_for_update ? program.update_lane(engine) : program.lane(engine);
        };
        add(lane(Engine::nvme_read), file, host);
        add(program.lane(Engine::compute), host, host);
        add(lane(Engine::nvme_write), host, file);
    }
    place_in_turn(program);
    schedule::derive_dependencies(program);
    return program;
}

constexpr Rates unit_rates{.products = {.forward = {.flops = 1}},
                           .memory = 1e12,
                           .host_memory = 1e12,
                           .nvme_read = 1,
                           .nvme_write = 1,
                           .host_to_device = size,
                           .device_to_host = 1,
                           .has_device = true};

TEST(StepSeconds, AreThoseOfBothWhenNothingIsAhead) {
    const std::vector<double> flops(8, 2);
    EXPECT_NEAR(step_seconds(fetching(flops, 0), unit_rates), 8 * (1 + 2), 0.01);
}

TEST(StepSeconds, AreThoseOfComputingWhenOneIsAheadAndTransfersAreShorter) {
    const std::vector<double> flops(8, 2);
    EXPECT_NEAR(step_seconds(fetching(flops, 1), unit_rates), 8 * 2 + 1, 0.01) << "the first fetch is seen";
}

TEST(StepSeconds, AreThoseOfTheLaneWhenTransfersAreLonger) {
    const std::vector<double> flops(8, 0.5);
    EXPECT_NEAR(step_seconds(fetching(flops, 1), unit_rates), 8 + 0.5, 0.01) << "the last product is seen";
}

TEST(StepSeconds, GainByDepthWhereUnitsDiffer) {
    const std::vector<double> flops{3, 3, 0.2, 0.2, 0.2, 3, 3, 0.2, 0.2, 0.2};
    const auto at = [&](std::size_t ahead) { return step_seconds(fetching(flops, ahead), unit_rates); };
    EXPECT_LT(at(2), at(1) - 0.5);
    EXPECT_LT(at(3), at(2) - 0.5);
}

TEST(StepSeconds, AreThoseOfReadsAndWritesTogetherWhereTheyShareTheDisks) {
    constexpr int units = 20;
    auto rates = unit_rates;
    rates.nvme_read = size;
    rates.nvme_write = size / 2.0;
    EXPECT_NEAR(step_seconds(passing(units), rates), 2 * units, 1) << "writes take longest";
    rates.has_shared_disks = true;
    EXPECT_NEAR(step_seconds(passing(units), rates), (1 + 2) * units, 1);
}

TEST(StepSeconds, AreThoseOfAllReadsTogetherOnWhicheverLaneTheyAre) {
    constexpr int units = 20;
    auto rates = unit_rates;
    rates.nvme_read = size;
    rates.nvme_write = 100 * size;
    EXPECT_NEAR(step_seconds(passing(units), rates), units, 1);
}

TEST(StepSeconds, AreThoseOfAllWritesTogetherOnWhicheverLaneTheyAre) {
    constexpr int units = 20;
    auto rates = unit_rates;
    rates.nvme_read = 100 * size;
    rates.nvme_write = size;
    EXPECT_NEAR(step_seconds(passing(units), rates), units, 1);
}

TEST(StepSeconds, LetWhatPassesWaitForGoBeforeWhatUpdatesWaitFor) {
    constexpr int reads_for_updates = 8;
    constexpr int reads_for_passes = 4;
    constexpr double computing = 8;
    Program program;
    const auto read = [&](int lane) {
        Op op;
        op.kind = OpKind::copy;
        op.lane = lane;
        op.reads = {whole(program, add_buffer(program, spec::Tier::nvme), schedule::Role::input)};
        op.writes = {whole(program, add_buffer(program, spec::Tier::host), schedule::Role::output)};
        program.ops.push_back(op);
        return op.writes.front();
    };
    for (int i = 0; i < reads_for_updates; ++i) {
        read(program.update_lane(Engine::nvme_read));
    }
    Op compute;
    for (int i = 0; i < reads_for_passes; ++i) {
        compute.reads.push_back(read(program.lane(Engine::nvme_read)));
    }
    compute.lane = program.lane(Engine::compute);
    compute.flops = computing;
    program.ops.push_back(compute);
    place_in_turn(program);
    schedule::derive_dependencies(program);
    auto rates = unit_rates;
    rates.nvme_read = size;
    EXPECT_NEAR(step_seconds(program, rates), reads_for_passes + computing, 0.5);
}

TEST(StepSeconds, AreNotThoseOfThrottledWaysForControlValues) {
    auto rates = unit_rates;
    rates.control_to_device = 1e12;
    for (const bool is_control : {false, true}) {
        auto program = fetching(std::vector<double>(4, 2), 0);
        for (auto& op : program.ops) {
            const bool is_copy = op.kind == OpKind::copy;
            op.purpose = is_copy && is_control ? schedule::Purpose::control : op.purpose;
        }
        EXPECT_NEAR(step_seconds(program, rates), is_control ? 4 * 2 : 4 * (1 + 2), 0.01);
    }
}

TEST(Throttled, IsTheMachineAsTheThrottleLeavesIt) {
    spec::RunSpec spec;
    spec.parallel.ranks_per_node = 2;
    spec.debug.throttle = {.nvme_read = 1e9, .nvme_write = 4e9, .host_to_device = 2e9};
    const auto slowed =
        throttled({.nvme_read_rate = 6e9, .nvme_write_rate = 6e9, .device_to_host_rate = 5e9}, spec);
    EXPECT_DOUBLE_EQ(slowed.nvme_read_rate, 2e9) << "of two ranks";
    EXPECT_DOUBLE_EQ(slowed.nvme_write_rate, 6e9);
    EXPECT_DOUBLE_EQ(slowed.host_to_device_rate, 2e9) << "unknown otherwise";
    EXPECT_DOUBLE_EQ(slowed.device_to_host_rate, 5e9);
}

TEST(Rates, AreTheMachinesWhereTheThrottleIsNotLower) {
    auto spec = test::small_spec("llama", 2);
    spec.debug.throttle = {.nvme_read = 5e9, .host_to_device = 1e6};
    const spec::MachineSpec machine{
        .nvme_read_rate = 8e9, .nvme_write_rate = 6e9, .device_to_host_rate = 2e9, .device_flops = 7e9};

    const auto rates = rates_of(spec, machine);

    EXPECT_DOUBLE_EQ(rates.products.forward.flops, 7e9);
    EXPECT_DOUBLE_EQ(rates.nvme_read, 4e9) << "a rank's half of the node's";
    EXPECT_DOUBLE_EQ(rates.nvme_write, 3e9);
    EXPECT_DOUBLE_EQ(rates.host_to_device, 1e6);
    EXPECT_DOUBLE_EQ(rates.device_to_host, 2e9);
    EXPECT_DOUBLE_EQ(rates.control_to_device, 10e9) << "usual, whatever debug.throttle says";
    EXPECT_DOUBLE_EQ(rates.control_to_host, 2e9);
    EXPECT_FALSE(rates.has_device);
    EXPECT_FALSE(rates.has_shared_disks) << "each way has its throttle";
    spec.debug.throttle = {.host_to_device = 1e6};
    EXPECT_TRUE(rates_of(spec, machine).has_shared_disks);
}

}  // namespace
}  // namespace ziggurat::plan
