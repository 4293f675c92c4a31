#include "schedule/passes/gather_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "schedule/build_program.hpp"
#include "schedule/place/place_buffers.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/support/random/random_spec.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns one axis of `data` ranks, with everything sharded over all of them.
spec::RunSpec fully_sharded(int data, int prefetch, std::int64_t microbatches = 1) {
    auto spec = test::random_spec(1, {.context = false, .tiers = false, .frozen = false, .tiles = false});
    spec.parallel = {};
    spec.parallel.ranks = spec.parallel.data = data;
    spec.sharding = {data, data, data, 0, spec::ReducePlan::each_microbatch, data};
    spec.model.layers = 4;
    spec.model.tie_embeddings = true;
    spec.train.micro_batches = microbatches;
    spec.overlap.prefetch = prefetch;
    spec.recompute.kind = spec::RecomputeKind::none;
    spec.tiers = {};
    return spec;
}

std::int64_t padded(const spec::RunSpec& spec) {
    std::int64_t sum = 0;
    for (const auto& flat : ModelLayout{spec, 0}.flats) {
        sum += flat.padded_elements();
    }
    return sum;
}

/// Returns the maximum number of leases alive at one position of the list.
int max_leases(const Program& program) {
    const auto ranges = live_ranges(program);
    int max = 0;
    for (int i = 0; i < static_cast<int>(program.ops.size()); ++i) {
        int alive = 0;
        for (std::size_t b = 0; b < program.buffers.size(); ++b) {
            const bool is_lease = program.buffers[b].consumer == MemoryCategory::leases;
            alive += is_lease && ranges[b].first <= i && i <= ranges[b].last ? 1 : 0;
        }
        max = std::max(max, alive);
    }
    return max;
}

TEST(GatherPass, CostsAtMostThreeTimesTheParametersInAll) {
    const auto spec = fully_sharded(4, 1);
    const auto size = padded(spec);

    const auto volumes = volumes_counted(build_program(spec, 0, Variant::train));

    // The head and the lookup are gathered once per use, layers twice.
    EXPECT_LE(volumes.gathers, 2 * size * 3 / 4);
    EXPECT_EQ(volumes.reduction, size * 3 / 4);
    EXPECT_EQ(volumes.publication, 0);
}

TEST(GatherPass, HoldsAsManyLeasesAsArePrefetched) {
    for (int prefetch = 0; prefetch <= 3; ++prefetch) {
        const auto program = build_program(fully_sharded(2, prefetch, 3), 1, Variant::train);

        // The head with tied weights takes two leases at a time.
        EXPECT_LE(max_leases(program), prefetch + 2);
        EXPECT_GE(max_leases(program), std::max(prefetch + 1, 2));
    }
}

TEST(GatherPass, IssuesGathersAheadOfTheirUse) {
    const auto first_use_of_second_lease = [](int prefetch) {
        const auto program = build_program(fully_sharded(2, prefetch), 0, Variant::train);
        int gathers = 0;
        for (const auto& op : program.ops) {
            if (op.purpose == Purpose::parameters) {
                ++gathers;
            } else if (op.kind == OpKind::compute) {
                return gathers;  // issued before the first use of any
            }
        }
        return -1;
    };

    EXPECT_EQ(first_use_of_second_lease(0), 1);
    EXPECT_EQ(first_use_of_second_lease(1), 2);
    EXPECT_EQ(first_use_of_second_lease(3), 4);
}

TEST(GatherPass, NeverReadsThePlaceholder) {
    const auto program = build_program(fully_sharded(3, 2), 0, Variant::train);

    const auto ranges = live_ranges(program);
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
        if (program.buffers[b].name.starts_with("all of ")) {
            EXPECT_EQ(ranges[b].first, -1) << program.buffers[b].name;
        }
    }
}

TEST(GatherPass, GathersByLayerAsOftenAsForOneMicroBatch) {
    const auto of_one = volumes_counted(build_program(fully_sharded(4, 1), 2, Variant::train));
    for (const std::int64_t microbatches : {2, 5}) {
        auto spec = fully_sharded(4, 1, microbatches);
        spec.train.accumulate = spec::AccumulationOrder::by_layer;
        const auto program = build_program(spec, 2, Variant::train);
        const auto volumes = volumes_counted(program);

        EXPECT_EQ(volumes.gathers, of_one.gathers);
        EXPECT_EQ(volumes.reduction, microbatches * of_one.reduction);
        EXPECT_EQ(max_leases(program), max_leases(build_program(fully_sharded(4, 1), 2, Variant::train)));
    }
}

TEST(GatherPass, TakesLaterLeasesFromTheSecondCopy) {
    auto spec = fully_sharded(4, 1, 2);
    spec.sharding.secondary = 2;
    const auto size = padded(spec);

    const auto volumes = volumes_counted(build_program(spec, 3, Variant::train));

    EXPECT_EQ(volumes.gathers, size * 3 / 4);
    EXPECT_EQ(volumes, volumes_by_formula(spec, ModelLayout{spec, 3}));
    EXPECT_GT(volumes.secondary, 0);
}

}  // namespace
}  // namespace ziggurat::schedule
