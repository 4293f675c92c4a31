#include "schedule/context/context_ring_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "schedule/build_program.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/simulated_ranks.hpp"

namespace ziggurat::schedule {
namespace {

spec::RunSpec on_a_ring(int ranks) {
    auto spec = test::random_spec(4, {.context = false, .tiers = false, .frozen = false, .tiles = false});
    spec.parallel = {};
    spec.parallel.ranks = spec.parallel.data = spec.parallel.context = ranks;
    spec.sharding = {1, 1, 1, 0, spec::ReducePlan::at_end, 1};
    spec.parallel.context_kind = spec::ContextKind::ring;
    spec.data.seq = 12;
    spec.model.layers = 2;
    spec.train.micro_batches = 1;
    spec.recompute.kind = spec::RecomputeKind::none;
    return spec;
}

/// Returns the elements of keys and values of a rank's tokens in one layer.
std::int64_t kv_elements(const spec::RunSpec& spec) {
    return spec.train.micro_batch * spec.data.seq / spec.parallel.context * 2 * spec.model.kv_heads *
           spec.model.head_dim;
}

TEST(ContextRing, SendsKeysAndValuesOnceToEachOtherRankAndTheirGradientsAllTheWayHome) {
    for (const int ranks : {2, 3, 4}) {
        const auto spec = on_a_ring(ranks);
        std::map<std::string, std::int64_t> sent;
        for (const auto& op : build_program(spec, 1, Variant::train).ops) {
            if (op.kind == OpKind::send) {
                const bool is_gradient = op.label.find("d kv") != std::string::npos;
                sent[is_gradient ? "d kv" : "kv"] += op.reads.front().bytes();
            }
        }
        const std::int64_t element_bytes = spec.precision.compute == spec::DType::f32 ? 4 : 2;

        // Forward and backward of two layers.
        EXPECT_EQ(sent["kv"], 2 * 2 * (ranks - 1) * kv_elements(spec) * element_bytes);
        EXPECT_EQ(sent["d kv"], 2 * ranks * kv_elements(spec) * 4);
    }
}

TEST(ContextRing, DoesTheSameWorkInAsManyRoundsAsThereAreRanks) {
    const auto flops = [](const Program& program, int& ops) {
        double sum = 0;
        ops = 0;
        for (const auto& op : program.ops) {
            if (op.label.find(".attention ") != std::string::npos && op.flops > 0) {
                sum += op.flops;
                ++ops;
            }
        }
        return sum;
    };
    int one = 0;
    int three = 0;
    const auto alone = flops(build_program(on_a_ring(1), 0, Variant::train), one);
    const auto shared = flops(build_program(on_a_ring(3), 2, Variant::train), three);

    EXPECT_EQ(three, 3 * one);
    EXPECT_NEAR(shared, alone / 3, 1e-9 * alone);
}

TEST(ContextRing, EndsUnderEveryOrderOfLanes) {
    for (const int ranks : {2, 3, 5, 6}) {
        auto spec = on_a_ring(ranks);
        spec.data.seq = 60;
        spec.model.max_seq = 60;
        const ExpectedResults truth{spec};
        const auto programs = test::programs_of_all_ranks(spec);
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            EXPECT_EQ(simulate(programs, &truth, {.seed = seed}).report(), "") << ranks << " ranks";
        }
    }
}

}  // namespace
}  // namespace ziggurat::schedule
