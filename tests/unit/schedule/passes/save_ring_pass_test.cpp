#include "schedule/passes/save_ring_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns a run with weights on NVMe, updated by the device and the host according to the home of the
/// moments.
spec::RunSpec weights_on_nvme(const spec::Home& moments) {
    auto spec = test::small_spec("llama");
    spec.tiers.parameters = {0, 0, 1};
    spec.tiers.optimizer = moments;
    spec.tiers.chunk_elements = 2048;
    spec.checkpoint.every = spec::Interval{.steps = 1};
    spec.checkpoint.is_async = true;
    return spec;
}

/// Returns the number of ops with an ordered slot of the ring, and of ops that copy state to the save.
std::pair<std::int64_t, std::int64_t> in_turn(const spec::RunSpec& spec) {
    const ModelLayout model{spec, 0};
    const auto program = build_program(spec, model, Variant::train);
    std::set<int> passing;
    for (const auto& run : streamed_ranges(model, program)) {
        passing.insert(run.op);
    }
    const auto ordered = std::ranges::count_if(
        program.ops, [&](const Op& op) { return program.find_write(op, Role::passing) != nullptr; });
    return {ordered, std::ssize(passing)};
}

TEST(PassingState, OfTwoLanesPassesInTurn) {
    const auto [ordered, passing] = in_turn(weights_on_nvme({0.4, 0.6, 0}));
    EXPECT_GT(passing, 1);
    EXPECT_EQ(ordered, passing);
}

TEST(PassingState, OfOneLaneNeedsNoOrder) {
    const auto [ordered, passing] = in_turn(weights_on_nvme({0, 1, 0}));
    EXPECT_GT(passing, 1);
    EXPECT_EQ(ordered, 0);
}

// Updates of the device come after the step's end, so the first range of a buffer comes after later ones.
TEST(PassingState, IsHeldIfUpdatesOfTheHostAreSpeculative) {
    auto spec = weights_on_nvme({0.4, 0.6, 0});
    const auto held = [&] {
        const ModelLayout model{spec, 0};
        return bytes_held(streamed_ranges(model, build_program(spec, model, Variant::train)));
    };
    EXPECT_EQ(held(), 0);
    spec.overlap.optimizer_with_backward = true;
    spec.optimizer.clip = spec::ClipPolicy::global;
    EXPECT_GT(held(), 0);
}

// A device update cannot write to the ring, which is on the host.
TEST(PassingState, LeavesTheDeviceByACopyInFrontOfTheUpdate) {
    const auto spec = weights_on_nvme({1, 0, 0});
    const ModelLayout model{spec, 0};
    const auto program = build_program(spec, model, Variant::train);
    const auto runs = streamed_ranges(model, program);

    ASSERT_FALSE(runs.empty());
    for (const auto& run : runs) {
        const auto& copy = program.ops[static_cast<std::size_t>(run.op)];
        const auto& update = program.ops[static_cast<std::size_t>(run.op) + 1];
        EXPECT_EQ(copy.kind, OpKind::copy);
        EXPECT_EQ(copy.purpose, Purpose::checkpoint);
        EXPECT_EQ(program.lanes[static_cast<std::size_t>(copy.lane)].engine, Engine::device_to_host);
        EXPECT_EQ(update.kind, OpKind::update);
        EXPECT_EQ(update.chunk, copy.chunk);
        EXPECT_EQ(program.buffer(run.staged).tier, spec::Tier::device);
        EXPECT_TRUE(std::ranges::any_of(copy.reads, [&](const Operand& read) {
            return read.buffer == run.staged && read.runs.front().offset == run.staged_offset &&
                   read.runs.front().bytes == run.at_home.bytes;
        }));
    }
}

}  // namespace
}  // namespace ziggurat::schedule
