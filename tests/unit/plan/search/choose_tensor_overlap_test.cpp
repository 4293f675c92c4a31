#include "plan/search/choose_tensor_overlap.hpp"

#include <gtest/gtest.h>

#include "plan/planned_time.hpp"
#include "tests/unit/plan/small_machine.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

/// Returns a run of four tensor ranks with long products.
spec::RunSpec on_tensor_ranks() {
    auto run = test::small_spec();
    run.model.layers = 4;
    run.model.hidden = 256;
    run.model.heads = run.model.kv_heads = 8;
    run.model.head_dim = 32;
    run.model.ffn_hidden = 1024;
    run.data.seq = run.model.max_seq = 256;
    run.parallel.tensor = run.parallel.ranks = run.parallel.ranks_per_node = 4;
    run.parallel.sequence = true;
    return run;
}

double step_seconds(spec::RunSpec run, bool pieces, const spec::MachineSpec& machine) {
    run.overlap.tensor_pieces = pieces;
    return planned_time(run, machine).step_seconds;
}

TEST(TensorOverlap, IsInPiecesWhereCommunicationTakesLong) {
    const auto run = on_tensor_ranks();
    const auto machine = test::small_machine();

    const auto chosen = choose_tensor_overlap(run, machine);

    EXPECT_TRUE(chosen.in_pieces) << chosen.reason;
    EXPECT_LT(step_seconds(run, true, machine), 0.99 * step_seconds(run, false, machine));
}

TEST(TensorOverlap, IsWholeWhereEachCollectiveHasAHighLatency) {
    auto machine = test::small_machine();
    machine.node_link = {.bandwidth = 1e12, .latency = 2e-3};

    const auto chosen = choose_tensor_overlap(on_tensor_ranks(), machine);

    EXPECT_FALSE(chosen.in_pieces) << chosen.reason;
}

TEST(TensorOverlap, TakesTheRateOfAThrottledTensorAxis) {
    auto run = on_tensor_ranks();
    auto machine = test::small_machine();
    machine.node_link = {.bandwidth = 1e12, .latency = 0};
    const double fast = step_seconds(run, false, machine);
    run.debug.throttle.tensor = 1e7;
    EXPECT_GT(step_seconds(run, false, machine), 1.2 * fast);
    EXPECT_TRUE(choose_tensor_overlap(run, machine).in_pieces);
}

}  // namespace
}  // namespace ziggurat::plan
