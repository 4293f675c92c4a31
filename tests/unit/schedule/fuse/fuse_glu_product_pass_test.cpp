#include "schedule/fuse/fuse_glu_product_pass.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "layout/families/gated_unit.hpp"
#include "schedule/build_program.hpp"
#include "schedule/fuse/fuse_glu_pass.hpp"
#include "tests/unit/schedule/fuse/gpu_spec.hpp"

namespace ziggurat::schedule {
namespace {

using spec::ProductChoice;
using spec::RecomputeKind;
using testing::ElementsAre;
using testing::IsEmpty;

spec::RunSpec fused_spec(const std::string& family, RecomputeKind recompute = RecomputeKind::none) {
    auto spec = test::gpu_spec(family);
    spec.precision.products = ProductChoice::fused;
    spec.recompute.kind = recompute;
    return spec;
}

/// Ops that compute a gated unit or its gradient, by direction: those of its phase, and fused products.
struct Found {
    std::vector<Direction> alone, fused;
    int with_output = 0;        ///< fused products that compute the output of the unit again
    bool has_d_active = false;  ///< a buffer of its gradient is in use
};

Found units(const spec::RunSpec& spec) {
    const ModelLayout model{spec, 0};
    const auto program = build_program(spec, model, Variant::train);
    Found found;
    for (const auto& op : program.ops) {
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                found.has_d_active |= program.buffer(operand.buffer).name.ends_with("d layers.0.mlp.active");
            }
        }
        if (is_glu(op, model)) {
            found.alone.push_back(op.direction);
        }
        if (op.kind != OpKind::compute || program.find_read(op, Role::activation_input) == nullptr) {
            continue;
        }
        const auto& unit = model.table.units[static_cast<std::size_t>(op.unit)];
        EXPECT_TRUE(layout::gated_unit_before(unit, op.phase)) << op.label;
        const auto* const input = program.find_read(op, Role::activation_input);
        const auto* const gradient = program.find_write(op, Role::d_input);
        EXPECT_EQ(gradient->bytes(), input->bytes()) << op.label;
        EXPECT_NE(gradient->buffer, input->buffer) << op.label;
        EXPECT_NE(program.find_write(op, Role::workspace), nullptr) << op.label;
        found.fused.push_back(op.direction);
        found.with_output += program.find_write(op, Role::activated) != nullptr ? 1 : 0;
    }
    return found;
}

TEST(FuseGluProductPass, FusesTheGradientWithItsProduct) {
    for (const auto* family : {"llama", "gemma2", "qwen3", "olmo2"}) {
        const auto found = units(fused_spec(family));
        EXPECT_THAT(found.alone, ElementsAre(Direction::forward)) << family;
        EXPECT_THAT(found.fused, ElementsAre(Direction::backward_input)) << family;
        EXPECT_EQ(found.with_output, 0) << family;
        EXPECT_FALSE(found.has_d_active) << family;
    }
}

TEST(FuseGluProductPass, ComputesTheOutputAgainWithSelectiveRecomputation) {
    const auto found = units(fused_spec("llama", RecomputeKind::selective));
    EXPECT_THAT(found.alone, ElementsAre(Direction::forward));
    EXPECT_THAT(found.fused, ElementsAre(Direction::backward_input));
    EXPECT_EQ(found.with_output, 1);
}

TEST(FuseGluProductPass, LeavesGradientsAloneThatOverwriteTheInputOfTheirUnit) {
    const auto found = units(fused_spec("llama", RecomputeKind::full));
    EXPECT_THAT(found.fused, IsEmpty());
    EXPECT_THAT(found.alone, ElementsAre(Direction::forward, Direction::backward));
}

TEST(FuseGluProductPass, NeedsAGpuBfloat16AndTheDecksConsent) {
    auto on_host = fused_spec("llama");
    on_host.tiers.device = spec::DeviceKind::host;
    auto in_floats = fused_spec("llama");
    in_floats.precision.compute = spec::DType::f32;
    for (const auto& spec : {on_host, in_floats, test::gpu_spec("llama")}) {
        EXPECT_THAT(units(spec).fused, IsEmpty());
    }
    auto measured = fused_spec("llama");
    measured.precision.products = ProductChoice::measured;
    EXPECT_THAT(units(measured).fused, ElementsAre(Direction::backward_input));
}

TEST(FuseGluProductPass, LeavesProductsWithAdaptersAndTilesAlone) {
    auto with_adapters = fused_spec("llama");
    with_adapters.model.lora = {.rank = 2, .alpha = 4, .targets = {"mlp.down"}};
    auto tiled = fused_spec("llama");
    tiled.tiers.tiles = {{.match = "*.mlp.down.weight", .in = 1, .out = 2}};
    for (const auto& spec : {with_adapters, tiled}) {
        const auto found = units(spec);
        EXPECT_THAT(found.fused, IsEmpty());
        EXPECT_THAT(found.alone, ElementsAre(Direction::forward, Direction::backward));
    }
}

TEST(FuseGluProductPass, FusesOnEveryRankOfATensorAxisAndInTilesOfSequences) {
    auto spec = fused_spec("llama");
    spec.parallel.tensor = 2;
    spec.parallel.ranks = 2;
    EXPECT_THAT(units(spec).fused, ElementsAre(Direction::backward_input));
    auto tiled = fused_spec("llama");
    tiled.tiers.sequence_tiles = 2;
    EXPECT_THAT(units(tiled).fused, ElementsAre(Direction::backward_input, Direction::backward_input));
}

}  // namespace
}  // namespace ziggurat::schedule
