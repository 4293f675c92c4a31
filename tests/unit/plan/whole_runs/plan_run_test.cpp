#include "plan/plan_run.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>

#include "plan/for_each_on_threads.hpp"
#include "tests/unit/plan/deep_spec.hpp"

namespace ziggurat::plan {
namespace {

/// Plan, and the ops that its watch has counted.
struct CountedPlan {
    RunPlan plan;
    std::size_t ops = 0;
};

CountedPlan counted(const spec::RunSpec& spec, PlannedRanks which) {
    CountedPlan made;
    made.plan = plan_run(spec, {}, which, [&](std::size_t ops) { made.ops += ops; });
    return made;
}

void expect_equal(const CountedPlan& one, const CountedPlan& other) {
    EXPECT_EQ(one.ops, other.ops);
    EXPECT_EQ(one.plan.footprint.needed, other.plan.footprint.needed);
    EXPECT_EQ(one.plan.footprint.memory_needed, other.plan.footprint.memory_needed);
    ASSERT_EQ(one.plan.stages.size(), other.plan.stages.size());
    for (std::size_t s = 0; s < one.plan.stages.size(); ++s) {
        const auto& stage = one.plan.stages[s];
        EXPECT_EQ(stage.program.rank, other.plan.stages[s].program.rank);
        EXPECT_EQ(stage.program.ops.size(), other.plan.stages[s].program.ops.size());
        EXPECT_EQ(stage.rank_bytes, other.plan.stages[s].rank_bytes);
    }
}

spec::RunSpec with_states_on_host(spec::RunSpec spec) {
    spec.tiers.optimizer = spec.tiers.gradients = spec::Home{0, 1, 0};
    return spec;
}

TEST(PlanRun, AfterAFirstPlanIsThatFromScratch) {
    // The search reduces the second run further than the plan does.
    for (const auto& spec : {with_states_on_host(deep(6)), with_states_on_host(wide(5000)), deep(6, 4)}) {
        const auto wanted = counted(spec, PlannedRanks::several_in_search);
        auto first = plan_run(spec, {}, PlannedRanks::first);
        CountedPlan after;
        after.plan =
            plan_several_in_search(std::move(first), spec, {}, [&](std::size_t ops) { after.ops += ops; });
        expect_equal(after, wanted);
    }
}

TEST(PlanRun, OnThreadsIsThatOfOneThread) {
    for (const int ranks : {1, 2, 4, 24}) {
        const auto spec = deep(4, ranks);
        const auto wanted = counted(spec, PlannedRanks::several);
        set_threads_of_plans(2);
        const auto made = counted(spec, PlannedRanks::several);
        set_threads_of_plans(1);
        expect_equal(made, wanted);
    }
}

}  // namespace
}  // namespace ziggurat::plan
