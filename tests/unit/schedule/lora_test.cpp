/// Programs of runs that train adapters: properties of all programs, and those specific to adapters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "layout/counts.hpp"
#include "schedule/build_program.hpp"
#include "schedule/verify/check_program.hpp"
#include "schedule/verify/simulate.hpp"
#include "schedule/volumes/tensor_volumes.hpp"
#include "schedule/volumes/volumes.hpp"
#include "spec/stage_state.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

spec::RunSpec with_adapters(std::uint64_t seed) {
    auto spec = test::random_spec(seed, {.stages_differ = true, .lora = true});
    spec.tiers.device = seed % 2 == 0 ? spec::DeviceKind::host : spec::DeviceKind::cuda;
    return spec;
}

/// Returns the bytes of gradient sums over the tensor axis and between stages.
double sums_sent(const Program& program) {
    return static_cast<double>(bytes_sent_by_purpose(program)[Purpose::gradients]);
}

TEST(ProgramsOfAdapters, DoWhatWasAskedForOnAllAxes) {
    int tiled = 0;
    for (std::uint64_t seed = 1; seed <= 90; ++seed) {
        const auto spec = with_adapters(seed);
        tiled += spec.tiers.tiles.empty() ? 0 : 1;
        SCOPED_TRACE("seed " + std::to_string(seed) + ": " + test::described(spec));
        const auto programs = test::programs_of_all_ranks(spec);
        for (const auto& program : programs) {
            EXPECT_TRUE(check_program(program).empty());
            const ModelLayout model{spec, program.rank};
            auto formula = volumes_by_formula(spec::of_stage(spec, model.stage), model);
            formula.accumulated = 0;
            if (spec.tiers.tiles.empty()) {  // else: TileVolumes.AreWhatProgramsOfAdaptersSend
                EXPECT_EQ(volumes_counted(program), formula);
            }
        }
        const ExpectedResults truth{spec};
        ASSERT_EQ(simulate(programs, &truth, {.seed = seed}).report(), "");
    }
    EXPECT_GT(tiled, 15);
}

TEST(ProgramsOfAdapters, HaveGradientsAndMomentsOfAdaptersAlone) {
    auto spec = test::small_spec("llama");
    const auto base = layout::count_parameters(spec.model);
    spec.model.lora = {.rank = 3, .alpha = 6, .targets = {"attention.q", "attention.v"}};
    spec.train.only = {"*.lora_a", "*.lora_b"};

    const auto& m = spec.model;
    const auto of_layer = 3 * (2 * m.hidden + m.heads * m.head_dim + m.kv_heads * m.head_dim);
    EXPECT_EQ(layout::count_parameters(m).total, base.total + m.layers * of_layer);
    EXPECT_EQ(layout::count_trained(spec), m.layers * of_layer);

    const auto program = build_program(spec, 0, Variant::train);
    std::int64_t moments = 0, frozen = 0;
    for (const auto& buffer : program.buffers) {
        const bool is_kept = buffer.lifetime == Lifetime::persistent;
        moments += is_kept && buffer.state == StateKind::first_moment ? buffer.bytes / 4 : 0;
        frozen += is_kept && buffer.state == StateKind::frozen ? 1 : 0;
    }
    const ModelLayout model{spec, 0};
    const auto trained =
        std::transform_reduce(model.flats.begin(), model.flats.end(), std::int64_t{0}, std::plus<>{},
                              [](const layout::FlatLayout& flat) { return flat.trained_elements(); });
    EXPECT_EQ(moments, trained);
    EXPECT_GE(moments, m.layers * of_layer);
    EXPECT_LT(moments, m.layers * of_layer + m.layers * 1024) << "but for padding";
    EXPECT_EQ(frozen, m.layers + 2) << "all of the base";
}

/// Forward counts 2 FLOP per number; gradients of inputs and of factors the same each.
TEST(ProgramsOfAdapters, CountTheirProducts) {
    auto spec = test::small_spec("gpt2");
    const auto program_flops = [&] {
        const auto program = build_program(spec, 0, Variant::train);
        return std::transform_reduce(program.ops.begin(), program.ops.end(), 0.0, std::plus<>{},
                                     [](const Op& op) { return op.flops; });
    };
    spec.train.only = {"embedding.*"};  // gradients of all inputs, and of no weight
    const auto base = program_flops();
    spec.model.lora = {.rank = 4, .alpha = 4, .targets = {"mlp.down"}};
    spec.train.only.push_back("*.lora_?");

    const auto numbers =
        static_cast<double>(spec.model.layers * 4 * (spec.model.hidden + spec.model.ffn_hidden));
    const auto tokens =
        static_cast<double>(spec.train.micro_batches * spec.train.micro_batch * spec.data.seq);
    EXPECT_NEAR(program_flops() - base, 6 * numbers * tokens, 1e-9 * base);
    spec.tiers.tiles = {{.match = "mlp.*", .in = 1, .out = 2}};
    EXPECT_NEAR(program_flops() - base, 6 * numbers * tokens, 1e-9 * base) << "in tiles";
}

/// Ops of a tile use its rows alone. The op of the adapters follows the tiles and uses no weight.
TEST(ProgramsOfAdapters, UseThemAsAWholeAfterTheTilesOfTheirWeights) {
    auto spec = test::small_spec("llama");
    spec.model.lora = {.rank = 3, .alpha = 6, .targets = {"attention.v", "mlp.*"}};
    spec.train.only = {"*.lora_a", "*.lora_b"};
    spec.tiers.tiles = {{.match = "mlp.*", .in = 1, .out = 2}};
    const auto program = build_program(spec, 0, Variant::train);
    const ModelLayout model{spec, 0};
    std::map<std::tuple<int, int, int, Direction>, bool>
        is_complete;  // (unit, phase, micro-batch, direction)
    int adapters = 0;
    for (const auto& op : program.ops) {
        const bool is_tiled = op.kind == OpKind::compute && op.phase >= 0 &&
                              model.tiling(op.unit).cuts(op.phase) &&
                              model.table.units[op.unit].kind == layout::UnitKind::layer;
        if (!is_tiled) {
            continue;
        }
        auto& has_ended = is_complete[{op.unit, op.phase, op.microbatch, op.direction}];
        const bool is_of_adapters = program.find_read(op, Role::lora_a) != nullptr;
        EXPECT_NE(is_of_adapters, program.find_read(op, Role::weight) != nullptr) << op.label;
        EXPECT_EQ(is_of_adapters, op.column_end == 0) << op.label;
        EXPECT_FALSE(has_ended) << op.label;
        has_ended = is_of_adapters;
        adapters += is_of_adapters ? 1 : 0;
    }
    EXPECT_EQ(adapters, spec.model.layers * spec.train.micro_batches * 2 * 3) << "two products, three passes";
}

/// For a weight sharded along its outputs, A is whole on all tensor ranks; along its inputs, B.
TEST(ProgramsOfAdapters, SumTheWholeFactorOverTheTensorAxis) {
    for (const char* target : {"mlp.up", "mlp.down"}) {
        auto spec = test::small_spec("gpt2");
        spec.parallel.tensor = spec.parallel.ranks = 2;
        spec.model.lora = {.rank = 4, .alpha = 4, .targets = {target}};
        spec.train.only = {"*.lora_a", "*.lora_b"};
        const auto program = build_program(spec, 0, Variant::train);
        const auto formula = gradient_sum_bytes_by_formula(spec, ModelLayout{spec, 0});
        EXPECT_DOUBLE_EQ(sums_sent(program), formula);
        EXPECT_DOUBLE_EQ(formula, static_cast<double>(spec.model.layers * 4 * spec.model.hidden * 4))
            << target;
    }
}

}  // namespace
}  // namespace ziggurat::schedule
