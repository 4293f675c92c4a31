/// Volumes of sequence parallelism and of sharded activations: formulas against those of programs.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/build_program.hpp"
#include "schedule/volumes/split_volumes.hpp"
#include "schedule/volumes/tensor_collectives.hpp"
#include "schedule/volumes/tensor_volumes.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/random/spec_variants.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

spec::RunSpec sliced(const std::string& family, int tensor) {
    auto spec = test::small_spec(family);
    spec.parallel.tensor = spec.parallel.ranks = tensor;
    spec.parallel.sequence = true;
    spec.model.layers = 3;
    return spec;
}

std::int64_t sent_over_tensor(const spec::RunSpec& spec, int rank) {
    return bytes_sent_by_purpose(build_program(spec, rank, Variant::train))[Purpose::tensor];
}

TEST(SliceVolumes, AreSixGathersAndFourScattersOfALayer) {
    for (const char* family : {"gpt2", "llama"}) {
        auto spec = sliced(family, 2);
        for (const auto kind : {spec::RecomputeKind::none, spec::RecomputeKind::selective}) {
            spec.recompute.kind = kind;
            EXPECT_EQ(token_collectives(spec, ModelLayout{spec, 0}, 2), (TokenCollectives{0, 6, 4}))
                << family;
        }
        spec.recompute.kind = spec::RecomputeKind::full;
        EXPECT_EQ(token_collectives(spec, ModelLayout{spec, 0}, 2), (TokenCollectives{0, 8, 5})) << family;
    }
}

TEST(SliceVolumes, HaveTwoSumsOfSquaresMoreInALayerOfOlmo2) {
    auto spec = sliced("olmo2", 2);
    EXPECT_EQ(token_collectives(spec, ModelLayout{spec, 0}, 2), (TokenCollectives{0, 6, 4, 2}));
    spec.recompute.kind = spec::RecomputeKind::selective;
    EXPECT_EQ(token_collectives(spec, ModelLayout{spec, 0}, 2), (TokenCollectives{0, 6, 4, 2}));
    spec.recompute.kind = spec::RecomputeKind::full;
    EXPECT_EQ(token_collectives(spec, ModelLayout{spec, 0}, 2), (TokenCollectives{0, 8, 6, 3}))
        << "backward reads the sum of the last branch, before its norm";
}

// Each sum is split in two, and the inputs of the products are gathered once more.
TEST(SliceVolumes, AreThoseOfTensorRanksAndTheGathersForBackward) {
    auto spec = sliced("gpt2", 4);
    const auto with = tensor_bytes_by_formula(spec, ModelLayout{spec, 0});
    spec.parallel.sequence = false;
    const auto without = tensor_bytes_by_formula(spec, ModelLayout{spec, 0});

    const std::int64_t whole = 2 * 16 * 32 * 4;
    EXPECT_EQ(with - without, 2 * 3 * 2 * whole * 3 / 4);
}

TEST(SliceVolumes, OfSequenceAreWhatProgramsSend) {
    int looked_at = 0;
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 200);
    for (std::int64_t seed = 1; seed <= count; ++seed) {
        auto spec = test::random_spec(static_cast<std::uint64_t>(seed), {.context = false});
        if (spec.parallel.tensor == 1) {
            continue;
        }
        spec.parallel.sequence = true;
        spec.recompute.split = false;
        ++looked_at;
        for (int rank = 0; rank < spec.parallel.ranks; ++rank) {
            ASSERT_EQ(sent_over_tensor(spec, rank), tensor_bytes_by_formula(spec, ModelLayout{spec, rank}))
                << "rank " << rank << ", seed " << seed << ": " << test::described(spec);
        }
    }
    EXPECT_GT(looked_at, count / 8);
}

void expect_cut_activations_are_sent(const spec::RunSpec& spec, std::int64_t seed) {
    for (int rank = 0; rank < spec.parallel.ranks; ++rank) {
        const ModelLayout model{spec, rank};
        // A piece that the ranks do not divide evenly is rounded by itself.
        const auto program = build_program(spec, rank, Variant::train);
        const auto rounded =
            spec.overlap.tensor_pieces ? std::ranges::count(program.ops, Purpose::tensor, &Op::purpose) : 0;
        ASSERT_NEAR(
            static_cast<double>(bytes_sent_by_purpose(program)[Purpose::tensor]),
            static_cast<double>(tensor_bytes_by_formula(spec, model) + split_bytes_by_formula(spec, model)),
            static_cast<double>(rounded * spec.parallel.tensor))
            << "rank " << rank << ", seed " << seed << ": " << test::described(spec);
    }
}

TEST(SliceVolumes, OfCutActivationsAreWhatProgramsSend) {
    int looked_at = 0;
    int without_flush = 0;
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 200);
    for (std::int64_t seed = 1; seed <= count; ++seed) {
        auto spec = test::random_spec(static_cast<std::uint64_t>(seed), {.context = false, .tiles = false});
        if (spec.parallel.tensor == 1) {
            continue;
        }
        spec.parallel.sequence = false;
        spec.recompute.split = true;
        ++looked_at;
        expect_cut_activations_are_sent(spec, seed);
        if (spec.parallel.stages > 1 && !spec.data.has_pairs) {
            ++without_flush;
            expect_cut_activations_are_sent(test::without_flush(spec), seed);
        }
    }
    EXPECT_GT(looked_at, count / 8);
    EXPECT_GT(without_flush, count / 20);
}

// The backward of a chunk below the first trained tensor is empty. It does not count between forward and
// backward of another chunk.
TEST(SliceVolumes, OfCutActivationsPassOverChunksThatHaveNoBackward) {
    auto spec = test::small_spec("gpt2");
    spec.model.layers = 7;
    spec.parallel.tensor = 2;
    spec.parallel.stages = 3;
    spec.parallel.ranks = spec.parallel.ranks_per_node = 6;
    spec.parallel.pipeline_schedule = spec::PipelineSchedule::interleaved;
    spec.parallel.chunks_per_stage = 2;
    spec.recompute.split = true;
    for (const int microbatches : {3, 4, 7}) {
        spec.train.micro_batches = microbatches;
        spec.train.global_batch = 2 * microbatches;
        for (const char* trained : {"*", "layers.3.mlp.*", "layers.5.*"}) {
            spec.train.only = {trained, "layers.6.*"};
            for (int rank = 0; rank < spec.parallel.ranks; ++rank) {
                const ModelLayout model{spec, rank};
                EXPECT_EQ(sent_over_tensor(spec, rank),
                          tensor_bytes_by_formula(spec, model) + split_bytes_by_formula(spec, model))
                    << trained << ", rank " << rank << ", " << microbatches << " micro-batches";
            }
        }
    }
}

// On the last stage of a V, backward of the second chunk follows its forward, and that of the first chunk may
// precede gradients of weights.
TEST(SliceVolumes, OfCutActivationsAreThoseOfBothChunksOfAV) {
    for (const auto schedule :
         {spec::PipelineSchedule::zero_bubble, spec::PipelineSchedule::zero_bubble_half}) {
        for (const int stages : {2, 3}) {
            for (const int microbatches : {1, 2, 3, 4, 5}) {
                // Only the first stage forms gradients of weights with layers.0.
                for (const char* trained : {"*", "layers.*", "layers.2.*", "layers.0.*"}) {
                    auto spec = test::small_spec("gpt_neox");
                    spec.parallel.tensor = 2;
                    spec.parallel.stages = stages;
                    spec.parallel.chunks_per_stage = 2;
                    spec.parallel.ranks = spec.parallel.ranks_per_node = 2 * stages;
                    spec.parallel.pipeline_schedule = schedule;
                    spec.model.layers = 2 * stages + 1;
                    spec.model.tie_embeddings = false;
                    spec.train.micro_batches = microbatches;
                    spec.train.global_batch = 2 * microbatches;
                    spec.train.only = {trained, "head.*"};
                    spec.recompute.split = true;
                    for (int rank = 0; rank < spec.parallel.ranks; rank += 2) {
                        const ModelLayout model{spec, rank};
                        EXPECT_EQ(sent_over_tensor(spec, rank),
                                  tensor_bytes_by_formula(spec, model) + split_bytes_by_formula(spec, model))
                            << stages << " stages, " << microbatches << " micro-batches, " << trained
                            << ", rank " << rank;
                    }
                }
            }
        }
    }
}

// With one micro-batch, backward follows forward immediately on all stages, but weight gradients come last,
// except on the first stage.
TEST(SliceVolumes, OfCutActivationsHaveWhatGradientsOfWeightsWaitFor) {
    for (const char* family : {"gpt2", "gpt_neox", "llama"}) {
        auto spec = test::small_spec(family);
        spec.parallel.tensor = 2;
        spec.parallel.stages = 3;
        spec.parallel.ranks = spec.parallel.ranks_per_node = 6;
        spec.parallel.pipeline_schedule = spec::PipelineSchedule::zero_bubble;
        spec.train.micro_batches = 1;
        spec.train.global_batch = 2;
        spec.recompute.split = true;
        for (const auto kind :
             {spec::RecomputeKind::none, spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
            spec.recompute.kind = kind;
            for (const int layers : {3, 5, 7}) {
                spec.model.layers = layers;
                for (const char* trained : {"*", "layers.*", "layers.0.mlp.down.weight",
                                            "layers.1.mlp.down.weight", "layers.*.gain"}) {
                    spec.train.only = {trained, "head.*"};
                    for (const int rank : {0, 2}) {
                        const ModelLayout model{spec, rank};
                        EXPECT_EQ(sent_over_tensor(spec, rank),
                                  tensor_bytes_by_formula(spec, model) + split_bytes_by_formula(spec, model))
                            << family << ", " << trained << ", " << layers << " layers, recompute "
                            << static_cast<int>(kind) << ", rank " << rank;
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace ziggurat::schedule
