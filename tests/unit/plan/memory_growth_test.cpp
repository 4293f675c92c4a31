/// Memory per parameter of a rank, computed from plans of models of several depths.
#include <gtest/gtest.h>

#include "layout/families/family.hpp"
#include "plan/memory_table.hpp"
#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"

namespace ziggurat::plan {
namespace {

using spec::DType;
using spec::ReducePlan;

constexpr int data_ranks = 8;

/// Returns a wide model with few tokens and few saved activations: only its state grows with its depth.
spec::RunSpec model_of(std::int64_t layers, DType compute, const spec::Sharding& sharding) {
    spec::RunSpec run;
    run.model.family = "llama";
    run.model.layers = layers;
    run.model.hidden = 1024;
    run.model.heads = 16;
    run.model.kv_heads = 4;
    run.model.head_dim = 64;
    run.model.ffn_hidden = 2816;
    run.model.vocab = run.model.vocab_padded = 1024;
    run.model.max_seq = run.data.seq = 4;
    run.model.tie_embeddings = false;
    run.train.micro_batch = 1;
    run.train.micro_batches = 2;
    run.train.global_batch = 2 * data_ranks;
    run.parallel.ranks = run.parallel.ranks_per_node = run.parallel.data = data_ranks;
    run.recompute.kind = spec::RecomputeKind::full;
    run.precision.compute = compute;
    run.sharding = sharding;
    run.sharding.sum_group = data_ranks;
    return run;
}

struct Size {
    double parameters = 0;
    double bytes = 0;  ///< reserved by a rank
};

Size size_of(const spec::RunSpec& run) {
    const schedule::ModelLayout model{run, 0};
    Size size;
    for (const auto& flat : model.flats) {
        size.parameters += static_cast<double>(flat.elements());
    }
    const auto table = memory_usage(run, schedule::build_program(run, 0, schedule::Variant::train));
    size.bytes = static_cast<double>(table.total[static_cast<std::size_t>(spec::Tier::device)]);
    return size;
}

/// Expects that a rank's memory grows by `bytes` per parameter from each depth to the next.
void expect_growth(double bytes, DType compute, const spec::Sharding& sharding, DType gradient = DType::f32) {
    const auto size = [&](std::int64_t layers) {
        auto run = model_of(layers, compute, sharding);
        run.precision.gradient = gradient;
        return size_of(run);
    };
    auto before = size(4);
    for (const std::int64_t layers : {8, 16, 32}) {
        const auto now = size(layers);
        const auto slope = (now.bytes - before.bytes) / (now.parameters - before.parameters);
        EXPECT_NEAR(slope / bytes, 1, 0.01) << "up to " << layers << " layers";
        before = now;
    }
}

constexpr int d = data_ranks;

TEST(MemoryGrowth, OfZeRO0Is18BytesPerParameter) {
    expect_growth(18, DType::bf16, {1, 1, 1, 0, ReducePlan::at_end});
    expect_growth(16, DType::f32, {1, 1, 1, 0, ReducePlan::at_end});
}

TEST(MemoryGrowth, OfZeRO1CutsTheOptimizer) {
    expect_growth(6 + 12.0 / d, DType::bf16, {1, 1, d, 0, ReducePlan::at_end});
}

TEST(MemoryGrowth, OfZeRO2CutsGradientsToo) {
    expect_growth(2 + 16.0 / d, DType::bf16, {1, d, d, 0, ReducePlan::each_microbatch});
    expect_growth(6 + 12.0 / d, DType::bf16, {1, d, d, 0, ReducePlan::at_end});
}

TEST(MemoryGrowth, OfZeRO3IsThatOfZeRO0OverAllRanks) {
    expect_growth(18.0 / d, DType::bf16, {d, d, d, 0, ReducePlan::each_microbatch});
    expect_growth(16.0 / d, DType::f32, {d, d, d, 0, ReducePlan::each_microbatch});
}

TEST(MemoryGrowth, OfGradientsInBf16IsTwoBytesLess) {
    expect_growth(16, DType::bf16, {1, 1, 1, 0, ReducePlan::at_end}, DType::bf16);
    expect_growth(2 + 14.0 / d, DType::bf16, {1, d, d, 0, ReducePlan::each_microbatch}, DType::bf16);
    expect_growth(16.0 / d, DType::bf16, {d, d, d, 0, ReducePlan::each_microbatch}, DType::bf16);
}

TEST(MemoryGrowth, OfSpansInBetweenFollowsEachOfThem) {
    expect_growth(2.0 / 2 + 4.0 / 2 + 12.0 / 8, DType::bf16, {2, 2, 8, 0, ReducePlan::by_span});
    expect_growth(2.0 / 2 + 4.0 / 8 + 12.0 / 8, DType::bf16, {2, 8, 8, 0, ReducePlan::by_span});
}

TEST(MemoryGrowth, OfASecondCopyIsItsSpans) {
    expect_growth(18.0 / d + 2.0 / 4, DType::bf16, {d, d, d, 4, ReducePlan::each_microbatch});
}

}  // namespace
}  // namespace ziggurat::plan
