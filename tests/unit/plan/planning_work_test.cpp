#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "plan/plan_run.hpp"
#include "plan/report/memory_report.hpp"
#include "plan/search/choose_depths.hpp"
#include "plan/search/choose_homes.hpp"
#include "tests/unit/plan/deep_spec.hpp"

namespace ziggurat::plan {
namespace {

/// A test cannot rely on time, so it counts ops, which take the time.
TEST(PlanningWork, BoundsTheWorkOfAWholeCheck) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "counts what is built, which takes a minute under the sanitizer";
#endif
    constexpr std::size_t max_ops = 1'250'000;
    std::array runs{deep(10000, 8), wide(4), deep(127, 8)};
    for (auto& run : runs) {
        run.tiers.device_budget_bytes = run.tiers.host_budget_bytes = std::int64_t{1} << 26;
        run.tiers.open.optimizer = run.tiers.open.gradients = run.tiers.open.parameters = true;
        run.model.hidden = 131072;
        run.model.head_dim = 32768;
        run.tiers.chunk_elements = 0;
        run.tiers.nvme_paths = {"/nvme"};
    }
    runs[0].sharding = {8, 8, 8, 0, spec::ReducePlan::each_microbatch, 8};
    runs[0].tiers.tiles = {{.match = "*", .in = 1, .out = 4096}};
    // Four stages of tiled layers, each with individual homes and recomputation.
    auto& pipeline = runs[2];
    pipeline.parallel.stages = 4;
    pipeline.parallel.data = 2;
    pipeline.sharding = {2, 2, 2, 0, spec::ReducePlan::each_microbatch, 2};
    pipeline.train.micro_batches = 4;
    pipeline.train.global_batch = 16;
    pipeline.tiers.tiles = {{.match = "*", .in = 1, .out = 16}};
    pipeline.tiers.open.activations = pipeline.recompute.is_auto = true;
    for (const auto& run : runs) {
        std::size_t ops = 0;
        const Watch watch = [&](std::size_t built) {
            ops += built;
            ASSERT_LE(ops, max_ops);
        };
        auto chosen = choose_homes(run, {}, watch);
        const auto depths = choose_depths(chosen, {}, {.prefetch = true, .chunk = true}, watch);
        chosen.overlap.prefetch = depths.prefetch;
        chosen.tiers.chunk_elements = depths.chunk_elements;
        memory_report(chosen, {}, {}, watch);
        EXPECT_LE(ops, max_ops);
    }
}

/// Chunks that a search could distinguish one by one, with programs of full size.
TEST(PlanningWork, BoundsASearchAmongManyPieces) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "counts what is built, which takes a minute under the sanitizer";
#endif
    auto run = deep(126);
    run.train.micro_batches = 4;
    run.train.global_batch = 8;
    run.tiers.chunk_elements = 512;
    run.tiers.open.optimizer = run.tiers.open.gradients = run.tiers.open.parameters = true;
    run.tiers.device_budget_bytes = bytes_of_rank(run, 0)[0] * 6 / 10;
    run.tiers.host_budget_bytes = bytes_of_rank(run, 0)[0] * 3 / 10;
    run.tiers.nvme_paths = {"/nvme"};
    std::size_t ops = 0;

    const auto chosen = choose_homes(run, {}, [&](std::size_t built) { ops += built; });

    EXPECT_LE(ops, 470'000U);
    EXPECT_TRUE(plan_run(chosen).footprint.fits());
}

}  // namespace
}  // namespace ziggurat::plan
