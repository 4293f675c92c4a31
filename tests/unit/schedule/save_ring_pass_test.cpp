#include "schedule/passes/save_ring_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

/// Weights on NVMe that the device and the host update, as the home of the moments says.
spec::RunSpec weights_on_nvme(const spec::Home& moments) {
    auto spec = test::small_spec("llama");
    spec.tiers.parameters = {0, 0, 1};
    spec.tiers.optimizer = moments;
    spec.tiers.chunk_elements = 2048;
    spec.checkpoint.every = spec::Interval{.steps = 1};
    spec.checkpoint.is_async = true;
    return spec;
}

/// How many updates take a place in the ring in turn; and how many let state pass at all.
std::pair<std::int64_t, std::int64_t> in_turn(const spec::RunSpec& spec) {
    const ModelLayout model{spec, 0};
    const auto program = build_program(spec, model, Variant::train);
    std::set<int> passing;
    for (const auto& run : passing_runs(model, program)) {
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

}  // namespace
}  // namespace ziggurat::schedule
