#include "schedule/fuse/fuse_residual_pass.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedule/build_program.hpp"
#include "tests/unit/schedule/fuse/gpu_spec.hpp"

namespace ziggurat::schedule {
namespace {

using layout::PhaseKind;
using spec::RecomputeKind;
using test::gpu_spec;
using testing::ElementsAre;
using testing::IsEmpty;

/// Forward ops with a residual sum: phases that read a branch, and products with an addend.
struct Found {
    std::vector<Direction> apart, in_products;
    std::vector<std::string> names;  ///< of the results of the products
};

Found sums(const spec::RunSpec& spec, Variant variant = Variant::train) {
    const ModelLayout model{spec, 0};
    const auto program = build_program(spec, model, variant);
    Found found;
    for (const auto& op : program.ops) {
        if (op.kind != OpKind::compute) {
            continue;
        }
        const auto kind = model.table.units[op.unit].phases[op.phase].kind;
        if (program.find_read(op, Role::branch) != nullptr) {
            EXPECT_TRUE(kind == PhaseKind::residual || kind == PhaseKind::residual_norm);
            found.apart.push_back(op.direction);
        }
        if (program.find_read(op, Role::addend) != nullptr) {
            EXPECT_EQ(kind, PhaseKind::linear);
            found.in_products.push_back(op.direction);
            found.names.push_back(program.buffer(program.find_write(op, Role::output)->buffer).name);
        }
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                EXPECT_EQ(program.buffer(operand.buffer).name.find(".branch"), std::string::npos) << op.label;
            }
        }
    }
    return found;
}

TEST(FuseResidualPass, MakesBothSumsOfALayerPartOfProducts) {
    for (const std::string family : {"llama", "gpt2"}) {
        auto spec = gpu_spec(family);
        spec.model.dropout = 0;
        for (const auto variant : {Variant::train, Variant::evaluate}) {
            const auto found = sums(spec, variant);
            EXPECT_THAT(found.apart, IsEmpty());
            EXPECT_THAT(found.in_products, ElementsAre(Direction::forward, Direction::forward));
            EXPECT_THAT(found.names, ElementsAre("layers.0.mlp_norm.sum", "layers.0.residual.out"));
        }
    }
}

/// The MLP's product adds the branch of attention, and the sum of both is added to the stream apart.
TEST(FuseResidualPass, AddsOneMatrixToAProduct) {
    const auto spec = gpu_spec("gpt_neox");
    const ModelLayout model{spec, 0};
    const auto program = build_program(spec, model, Variant::train);
    std::size_t in_products = 0, apart = 0;
    for (const auto& op : program.ops) {
        const auto addends = std::ranges::count(op.reads, Role::addend, &Operand::role);
        EXPECT_LE(addends, 1) << op.label;
        in_products += static_cast<std::size_t>(addends);
        apart += program.find_read(op, Role::branch) != nullptr ? 1U : 0U;
    }
    EXPECT_EQ(in_products, 1U);
    EXPECT_EQ(apart, 1U);
}

TEST(FuseResidualPass, KeepsTheSumForSelectiveRecomputation) {
    auto spec = gpu_spec("llama");
    spec.recompute.kind = RecomputeKind::selective;
    const auto found = sums(spec);
    EXPECT_THAT(found.apart, IsEmpty());
    EXPECT_THAT(found.in_products, ElementsAre(Direction::forward, Direction::forward));
}

TEST(FuseResidualPass, IsRepeatedByFullRecomputation) {
    auto spec = gpu_spec("llama");
    spec.recompute.kind = RecomputeKind::full;
    const auto found = sums(spec);
    EXPECT_THAT(found.apart, IsEmpty());
    EXPECT_THAT(found.in_products, ElementsAre(Direction::forward, Direction::forward, Direction::recompute));
}

/// Returns the number of sums that are not part of products.
std::size_t num_apart(const spec::RunSpec& spec) {
    const ModelLayout model{spec, 0};
    const auto program = build_program(spec, model, Variant::train);
    return static_cast<std::size_t>(std::ranges::count_if(program.ops, [&](const Op& op) {
        EXPECT_EQ(program.find_read(op, Role::addend), nullptr) << op.label;
        return program.find_read(op, Role::branch) != nullptr && op.direction == Direction::forward;
    }));
}

TEST(FuseResidualPass, LeavesOtherBranchesAlone) {
    auto on_host = gpu_spec("llama");
    on_host.tiers.device = spec::DeviceKind::host;
    auto in_floats = gpu_spec("llama");
    in_floats.precision.compute = spec::DType::f32;
    auto with_dropout = gpu_spec("gpt2");
    with_dropout.model.dropout = 0.1;
    auto with_factor = gpu_spec("llama");
    with_factor.model.multiplier.residual = 0.5;
    auto on_ranks = gpu_spec("llama");
    on_ranks.parallel.tensor = on_ranks.parallel.ranks = 2;
    auto with_post_norms = gpu_spec("gemma2");
    for (const auto& spec : {on_host, in_floats, with_dropout, with_factor, on_ranks, with_post_norms}) {
        EXPECT_EQ(num_apart(spec), 2U) << spec.model.family;
    }
}

}  // namespace
}  // namespace ziggurat::schedule
