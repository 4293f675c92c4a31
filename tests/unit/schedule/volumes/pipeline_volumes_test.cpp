#include "schedule/volumes/pipeline_volumes.hpp"

#include <gtest/gtest.h>

#include "schedule/build_program.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

spec::RunSpec staged(int stages, int tensor) {
    auto spec = test::small_spec("llama");
    spec.model.layers = stages;
    spec.parallel.stages = stages;
    spec.parallel.tensor = tensor;
    spec.parallel.ranks = stages * tensor;
    return spec;
}

// Two micro-batches of two sequences of 16 tokens of 32 channels in fp32.
constexpr std::int64_t boundary = 2 * (2 * 16 * 32 * 4);

TEST(PipelineVolumes, AreABoundaryEachWayForEachMicroBatch) {
    const auto spec = staged(3, 1);
    EXPECT_EQ(pipeline_bytes_by_formula(spec, ModelLayout{spec, 0}), boundary);
    EXPECT_EQ(pipeline_bytes_by_formula(spec, ModelLayout{spec, 1}), 2 * boundary);
    EXPECT_EQ(pipeline_bytes_by_formula(spec, ModelLayout{spec, 2}), boundary);
}

TEST(PipelineVolumes, AreCutOverTensorRanksAndGatheredAmongThem) {
    auto spec = staged(2, 2);
    EXPECT_EQ(pipeline_bytes_by_formula(spec, ModelLayout{spec, 0}), boundary / 2 + boundary / 2);
    spec.parallel.sequence = true;
    EXPECT_EQ(pipeline_bytes_by_formula(spec, ModelLayout{spec, 0}), boundary / 2);
}

TEST(PipelineVolumes, AreWhatProgramsSend) {
    int staged_specs = 0;
    int cut_specs = 0;
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 200);
    for (std::int64_t seed = 1; seed <= count; ++seed) {
        const auto spec = test::random_spec(static_cast<std::uint64_t>(seed));
        if (spec.parallel.stages == 1) {
            continue;
        }
        ++staged_specs;
        cut_specs += spec.parallel.tensor > 1 && !spec.parallel.sequence ? 1 : 0;
        for (int rank = 0; rank < spec.parallel.ranks; ++rank) {
            const ModelLayout model{spec, rank};
            auto sent = bytes_sent_by_purpose(build_program(spec, model, Variant::train));

            ASSERT_EQ(sent[Purpose::pipeline], pipeline_bytes_by_formula(spec, model))
                << "rank " << rank << ", seed " << seed << ": " << test::described(spec);
        }
    }
    EXPECT_GT(staged_specs, count / 4);
    EXPECT_GT(cut_specs, count / 30);
}

}  // namespace
}  // namespace ziggurat::schedule
