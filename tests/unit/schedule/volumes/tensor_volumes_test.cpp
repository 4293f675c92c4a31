#include "schedule/volumes/tensor_volumes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "layout/families/family_descriptor.hpp"
#include "schedule/build_program.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

spec::RunSpec cut(const std::string& family, int tensor) {
    auto spec = test::small_spec(family);
    spec.parallel.tensor = spec.parallel.ranks = tensor;
    spec.model.layers = 3;
    return spec;
}

TEST(TensorVolumes, AreFourSumsPerLayerAndMicroBatch) {
    for (const char* family : {"gpt2", "llama"}) {
        const auto spec = cut(family, 2);

        EXPECT_EQ(tensor_sums(spec, ModelLayout{spec, 0}),
                  (TensorSums{.forward = 2 * (2 * 3 + 1), .backward = 2 * (2 * 3 + 1), .recomputed = 0}));
    }
}

TEST(TensorVolumes, AreSixSumsPerLayerOfOlmo2) {
    const auto spec = cut("olmo2", 2);

    EXPECT_EQ(tensor_sums(spec, ModelLayout{spec, 0}),
              (TensorSums{.forward = 2 * (3 * 3 + 1), .backward = 2 * (3 * 3 + 1), .recomputed = 0}));
}

TEST(TensorVolumes, RepeatTheSumsOfARecomputedForwardButTheLastOfEachRun) {
    auto spec = cut("llama", 2);
    spec.recompute.kind = spec::RecomputeKind::full;
    EXPECT_EQ((tensor_sums(spec, ModelLayout{spec, 0}).recomputed), 2 * 3);
    spec.recompute.every = 2;
    EXPECT_EQ((tensor_sums(spec, ModelLayout{spec, 0}).recomputed), 2 * (3 + 1));
    spec.recompute.kind = spec::RecomputeKind::selective;
    EXPECT_EQ((tensor_sums(spec, ModelLayout{spec, 0}).recomputed), 0);
}

TEST(TensorVolumes, AreThoseOfMegatronForALayer) {
    auto spec = cut("gpt2", 4);
    spec.model.layers = 5;
    const auto more = tensor_bytes_by_formula(spec, ModelLayout{spec, 0});
    spec.model.layers = 4;
    const auto less = tensor_bytes_by_formula(spec, ModelLayout{spec, 0});

    // 8 b s h (t - 1) / t elements of each micro-batch
    EXPECT_EQ(more - less, 2 * 8 * (2 * 16 * 32) * 3 / 4 * 4);
}

TEST(TensorVolumes, AreWhatProgramsSend) {
    int cut_specs = 0;
    int sharing_specs = 0;
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 200);
    for (std::int64_t seed = 1; seed <= count; ++seed) {
        auto spec = test::random_spec(static_cast<std::uint64_t>(seed), {.context = false});
        const bool is_tied_pipeline = spec.model.tie_embeddings && spec.parallel.stages > 1;
        if (spec.parallel.tensor == 1 && !is_tied_pipeline) {
            continue;
        }
        spec.recompute.split = false;
        if (seed % 2 == 0 && layout::family_of(spec.model).has_grouped_queries) {
            spec.model.kv_heads = 1;
        }
        ++cut_specs;
        sharing_specs += spec.model.kv_heads < spec.parallel.tensor ? 1 : 0;
        for (int rank = 0; rank < spec.parallel.ranks; ++rank) {
            const ModelLayout model{spec, rank};
            const auto program = build_program(spec, rank, Variant::train);
            std::int64_t between_phases = 0;
            std::int64_t of_gradients = 0;
            std::int64_t sums = 0;
            for (const auto& op : program.ops) {
                const bool is_sum =
                    op.purpose == Purpose::gradients && op.kind == OpKind::all_reduce && op.group >= 0 &&
                    !program.groups[static_cast<std::size_t>(op.group)].name.starts_with("data");
                between_phases += op.purpose == Purpose::tensor ? bytes_sent(op, program) : 0;
                of_gradients += is_sum ? bytes_sent(op, program) : 0;
                sums += is_sum ? 1 : 0;
            }
            ASSERT_EQ(between_phases, tensor_bytes_by_formula(spec, model))
                << "rank " << rank << ", seed " << seed << ": " << test::described(spec);
            // Each collective rounds down what a rank sends, twice.
            ASSERT_NEAR(static_cast<double>(of_gradients), gradient_sum_bytes_by_formula(spec, model),
                        2 * static_cast<double>(sums))
                << "rank " << rank << ", seed " << seed << ": " << test::described(spec);
        }
    }
    EXPECT_GT(cut_specs, count / 8);
    EXPECT_GE(sharing_specs, std::max<std::int64_t>(1, count / 40));
}

}  // namespace
}  // namespace ziggurat::schedule
