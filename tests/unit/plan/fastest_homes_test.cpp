#include "plan/search/fastest_homes.hpp"

#include <gtest/gtest.h>

#include "plan/plan_run.hpp"
#include "plan/planned_time.hpp"
#include "plan/search/choose_homes.hpp"
#include "tests/unit/plan/two_nodes.hpp"

namespace ziggurat::plan {
namespace {

/// A run on one rank that fits with recomputation, and without it only with the optimizer on the host.
spec::RunSpec run_short_of_memory() {
    auto spec = test::small_spec("llama", 1);
    spec.model.layers = 8;
    spec.train.micro_batch = 4;
    spec.train.micro_batches = 1;
    spec.train.global_batch = 4;
    spec.tiers.open.optimizer = true;
    spec.recompute.is_auto = true;
    auto full = spec;
    full.tiers.open = {};
    full.recompute = {.kind = spec::RecomputeKind::full};
    spec.tiers.device_budget_bytes = plan_run(full).footprint.needed[0] + 4096;
    return spec;
}

spec::MachineSpec machine_with(double link_bytes_per_s) {
    auto machine = test::machine_of_two_ranks();
    machine.host_to_device_rate = machine.device_to_host_rate = link_bytes_per_s;
    machine.host_bandwidth = link_bytes_per_s;
    return machine;
}

TEST(FastestHomes, RecomputeIfTheHostIsSlow) {
    const auto spec = run_short_of_memory();
    const auto machine = machine_with(1e6);
    const auto by_room = choose_homes(spec, machine);
    const auto chosen = choose_fastest_homes(spec, machine);
    EXPECT_LT(by_room.tiers.optimizer.device, 1) << "by room alone, state leaves before work is done twice";
    EXPECT_EQ(chosen.recompute.kind, spec::RecomputeKind::full);
    EXPECT_EQ(chosen.tiers.optimizer, spec::Home{});
    EXPECT_LT(planned_time(chosen, machine).step_seconds, planned_time(by_room, machine).step_seconds);
    EXPECT_TRUE(plan_run(chosen, machine).footprint.fits());
}

TEST(FastestHomes, MoveStateIfTheHostIsFast) {
    const auto spec = run_short_of_memory();
    const auto chosen = choose_fastest_homes(spec, machine_with(1e13));
    EXPECT_LT(chosen.tiers.optimizer.device, 1);
    EXPECT_NE(chosen.recompute.kind, spec::RecomputeKind::full);
}

TEST(FastestHomes, AreThoseByRoomIfRatesAreUnknown) {
    const auto spec = run_short_of_memory();
    auto machine = machine_with(1e6);
    machine.device_flops = 0;
    EXPECT_EQ(choose_fastest_homes(spec, machine), choose_homes(spec, machine));
}

TEST(FastestHomes, AreNotComparedIfEverythingIsOnTheDevice) {
    auto spec = run_short_of_memory();
    spec.tiers.device_budget_bytes = spec::unlimited;
    const auto chosen = choose_fastest_homes(spec, machine_with(1e6));
    EXPECT_EQ(chosen.recompute.kind, spec::RecomputeKind::none);
    EXPECT_EQ(chosen.tiers.optimizer, spec::Home{});
}

}  // namespace
}  // namespace ziggurat::plan
