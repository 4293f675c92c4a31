/// Grids and cubes of tensor ranks with other features: what they compute, and what they send.
///
/// The features are context ranks, pairs, adapters, tiles, pieces, lookups on the host and zero-bubble
/// schedules.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "layout/families/adapters.hpp"
#include "schedule/build_program.hpp"
#include "schedule/verify/check_program.hpp"
#include "schedule/verify/simulate.hpp"
#include "schedule/volumes/all_axes.hpp"
#include "schedule/volumes/context_volumes.hpp"
#include "schedule/volumes/grid_volumes.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/support/made_up_pairs.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

struct Combination {
    std::string name;
    std::function<void(spec::RunSpec&)> apply;
    bool is_for_cubes = true;  ///< small enough for the eight ranks of a cube

    friend void PrintTo(const Combination& of, std::ostream* out) { *out << of.name; }
};

void set_context(spec::RunSpec& run, spec::ContextKind kind) {
    run.parallel.context = 2;
    run.parallel.context_kind = kind;
    run.parallel.data *= 2;
    run.parallel.ranks *= 2;
    run.sharding.sum_group = run.parallel.data;
}

void set_zero_bubble(spec::RunSpec& run, int chunks) {
    run.parallel.stages = 2;
    run.parallel.ranks *= 2;
    run.parallel.chunks_per_stage = chunks;
    run.parallel.pipeline_schedule = spec::PipelineSchedule::zero_bubble;
    run.model.layers = 4;
    run.train.micro_batches = 5;
    run.train.global_batch = run.train.micro_batch * 5 * run.parallel.sequence_groups();
}

void set_adapters(spec::RunSpec& run) {
    run.model.lora = {.rank = 3, .alpha = 5, .targets = {"attention.*", "mlp.down"}};
    run.train.only = layout::patterns_of_adapters();
}

std::vector<Combination> combinations() {
    return {
        {"ring", [](spec::RunSpec& run) { set_context(run, spec::ContextKind::ring); }},
        {"ulysses", [](spec::RunSpec& run) { set_context(run, spec::ContextKind::ulysses); }},
        {"pairs", [](spec::RunSpec& run) { run = test::with_pairs(run); }},
        {"pairs_on_context_ranks",
         [](spec::RunSpec& run) {
             set_context(run, spec::ContextKind::ring);
             run = test::with_pairs(run);
         }},
        {"adapters", set_adapters},
        {"adapters_full",
         [](spec::RunSpec& run) {
             set_adapters(run);
             run.model.layers = 2;
             run.recompute.kind = spec::RecomputeKind::full;
         }},
        {"adapters_in_tiles",
         [](spec::RunSpec& run) {
             set_adapters(run);
             run.tiers.tiles = {{.match = "*", .in = 1, .out = 2}};
         }},
        {"adapters_in_tiles_in_bf16",
         [](spec::RunSpec& run) {
             set_adapters(run);
             run.model.layers = 2;
             run.tiers.tiles = {{.match = "attention.*", .in = 1, .out = 2}};
             run.precision.compute = spec::DType::bf16;
             run.recompute.kind = spec::RecomputeKind::full;
         }},
        {"tiles", [](spec::RunSpec& run) { run.tiers.tiles = {{.match = "*", .in = 1, .out = 2}}; }},
        {"tiles_in_bf16",
         [](spec::RunSpec& run) {
             run.model.vocab = run.model.vocab_padded = 6144;  // tiles of the vocabulary have 1024 rows
             run.tiers.tiles = {{.match = "*", .in = 1, .out = 3}};
             run.precision.compute = spec::DType::bf16;
             run.recompute.kind = spec::RecomputeKind::full;
         }},
        {"host",
         [](spec::RunSpec& run) {
             run.model.tie_embeddings = false;
             run.tiers.embedding_on_host = true;
         }},
        {"host_with_a_tied_table",
         [](spec::RunSpec& run) {
             run.model.tie_embeddings = true;
             run.tiers.embedding_on_host = true;
         }},
        {"pieces", [](spec::RunSpec& run) { run.overlap.tensor_pieces = true; }},
        {"pieces_with_full_recomputation",
         [](spec::RunSpec& run) {
             run.overlap.tensor_pieces = true;
             run.recompute.kind = spec::RecomputeKind::full;
             run.tiers.tiles = {{.match = "attention.*", .in = 1, .out = 2}};
         }},
        {"rows_in_tiles", [](spec::RunSpec& run) { run.tiers.sequence_tiles = 3; }},
        {"rows_in_tiles_in_bf16",
         [](spec::RunSpec& run) {
             run.tiers.sequence_tiles = 4;
             run.precision.compute = spec::DType::bf16;
             run.recompute.kind = spec::RecomputeKind::full;
         }},
        {"rows_in_tiles_with_adapters",
         [](spec::RunSpec& run) {
             set_adapters(run);
             run.tiers.sequence_tiles = 4;
         }},
        {"rows_in_tiles_with_zero_bubble",
         [](spec::RunSpec& run) {
             set_zero_bubble(run, 1);
             run.tiers.sequence_tiles = 2;
         }},
        {"zero_bubble", [](spec::RunSpec& run) { set_zero_bubble(run, 1); }},
        {"zero_bubble_v", [](spec::RunSpec& run) { set_zero_bubble(run, 2); }, false},
        {"zero_bubble_with_adapters",
         [](spec::RunSpec& run) {
             set_zero_bubble(run, 1);
             set_adapters(run);
         },
         false},
        {"zero_bubble_with_adapters_in_tiles",
         [](spec::RunSpec& run) {
             set_zero_bubble(run, 1);
             set_adapters(run);
             run.tiers.tiles = {{.match = "layers.*", .in = 1, .out = 2}};
         },
         false},
    };
}

spec::RunSpec on_grid(const std::string& family, bool is_cube) {
    auto spec = test::small_spec(family, is_cube ? 2 : 1);
    auto& parallel = spec.parallel;
    parallel.tensor = parallel.tensor_rows = 2;
    parallel.tensor_depth = parallel.data;
    parallel.tensor_mode = is_cube ? spec::TensorMode::three_d : spec::TensorMode::two_d;
    parallel.ranks = 4 * parallel.data;
    spec.model.kv_heads = spec.model.heads;
    spec.train.global_batch = spec.train.micro_batch * spec.train.micro_batches * parallel.sequence_groups();
    spec.sharding.parameters = spec.sharding.gradients = spec.sharding.optimizer = parallel.data;
    return spec;
}

class GridFeatures : public ::testing::TestWithParam<Combination> {};

TEST_P(GridFeatures, ComputeWhatWasAskedForAndSendTheBytesOfTheFormulas) {
    for (const char* family : {"gpt2", "llama"}) {
        for (const bool is_cube : {false, true}) {
            if (is_cube && !GetParam().is_for_cubes) {
                continue;
            }
            SCOPED_TRACE(std::string{family} + (is_cube ? ", cube" : ", grid"));
            auto spec = on_grid(family, is_cube);
            GetParam().apply(spec);
            spec.overlap.tensor_pieces = spec.overlap.tensor_pieces && is_cube;  // a grid has blocks
            for (const auto variant : {Variant::train, Variant::evaluate}) {
                const auto programs = test::programs_of_all_ranks(spec, variant);
                for (const auto& program : programs) {
                    const auto findings = check_program(program);
                    ASSERT_TRUE(findings.empty()) << findings.front().text;
                    auto sent = bytes_sent_by_purpose(program);
                    if (variant == Variant::train) {
                        EXPECT_EQ(sent[Purpose::context],
                                  context_bytes_by_formula(spec, ModelLayout{spec, program.rank}).total())
                            << "rank " << program.rank;
                        EXPECT_EQ(sent[Purpose::tensor],
                                  grid_bytes_by_formula(spec, ModelLayout{spec, program.rank}))
                            << "rank " << program.rank;
                    }
                }
                const ExpectedResults truth{spec};
                EXPECT_EQ(simulate(programs, &truth, {}).report(), "");
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Combinations,
                         GridFeatures,
                         ::testing::ValuesIn(combinations()),
                         [](const auto& made) { return made.param.name; });

/// Returns the bytes of the largest output of forward of the MLP's first product in the first layer.
std::int64_t bytes_of_inner_value(const spec::RunSpec& spec) {
    const auto program = build_program(spec, 0, Variant::train);
    const ModelLayout model{spec, 0};
    std::int64_t bytes = 0;
    for (const auto& op : program.ops) {
        const auto* output = op.kind == OpKind::compute && op.unit == 1 && op.direction == Direction::forward
                                 ? program.find_write(op, Role::output)
                                 : nullptr;
        if (output != nullptr && model.table.units[1].phases[op.phase].name == "mlp_in") {
            bytes = std::max(bytes, program.buffers[output->buffer].bytes);
        }
    }
    return bytes;
}

TEST(TilesOfRows, OnGridsHaveTheirPartOfInnerValues) {
    for (const bool is_cube : {false, true}) {
        auto spec = on_grid("llama", is_cube);
        spec.recompute.kind = spec::RecomputeKind::full;
        const auto whole = bytes_of_inner_value(spec);
        spec.tiers.sequence_tiles = 4;
        EXPECT_GT(whole, 0);
        EXPECT_EQ(bytes_of_inner_value(spec), whole / 4) << (is_cube ? "cube" : "grid");
    }
}

}  // namespace
}  // namespace ziggurat::schedule
