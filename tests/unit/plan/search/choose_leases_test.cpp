#include "plan/search/choose_leases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "plan/plan_run.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

TEST(Leases, AreThoseOfAStepWhereTheDeviceHoldsThem) {
    auto run = test::small_spec("llama", 2);
    run.parallel.ranks = run.parallel.ranks_per_node = 4;
    run.parallel.stages = 2;
    run.model.layers = 8;
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = 2;
    const auto device_bytes = [&](spec::LeaseSpan leases) {
        auto planned = run;
        planned.sharding.leases = leases;
        std::int64_t max = 0;
        for (int rank = 0; rank < run.parallel.ranks; ++rank) {
            max = std::max(max, bytes_of_rank(planned, rank)[0]);
        }
        return max;
    };
    const auto of_a_pass = device_bytes(spec::LeaseSpan::pass);
    const auto of_a_step = device_bytes(spec::LeaseSpan::step);
    ASSERT_LT(of_a_pass, of_a_step);

    run.tiers.device_budget_bytes = of_a_step;
    EXPECT_TRUE(holds_leases_of_a_step(run, {}));
    run.tiers.device_budget_bytes = of_a_pass;
    EXPECT_FALSE(holds_leases_of_a_step(run, {}));
}

}  // namespace
}  // namespace ziggurat::plan
