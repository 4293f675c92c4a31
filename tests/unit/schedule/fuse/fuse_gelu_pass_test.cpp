#include "schedule/fuse/fuse_gelu_pass.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "schedule/build_program.hpp"
#include "tests/unit/schedule/fuse/gpu_spec.hpp"

namespace ziggurat::schedule {
namespace {

using spec::RecomputeKind;
using test::gpu_spec;
using testing::ElementsAre;
using testing::IsEmpty;

/// Ops that compute GELU, by direction: those of its phase, and products with a fused GELU.
struct Found {
    std::vector<Direction> alone, merged;
};

Found gelus(const spec::RunSpec& spec) {
    const ModelLayout model{spec, 0};
    const auto program = build_program(spec, model, Variant::train);
    Found found;
    for (const auto& op : program.ops) {
        if (op.kind != OpKind::compute) {
            continue;
        }
        const auto& unit = model.table.units[static_cast<std::size_t>(op.unit)];
        const auto kind = unit.phases[static_cast<std::size_t>(op.phase)].kind;
        if (kind == layout::PhaseKind::gelu || kind == layout::PhaseKind::gelu_erf) {
            found.alone.push_back(op.direction);
        }
        if (program.find_write(op, Role::activated) != nullptr ||
            program.find_read(op, Role::activation_input) != nullptr) {
            EXPECT_EQ(kind, layout::PhaseKind::linear);
            found.merged.push_back(op.direction);
        }
    }
    return found;
}

TEST(FuseGeluPass, MergesGeluAndItsGradientIntoProducts) {
    const auto found = gelus(gpu_spec("gpt2"));
    EXPECT_THAT(found.alone, IsEmpty());
    EXPECT_THAT(found.merged, ElementsAre(Direction::forward, Direction::backward_input));
}

TEST(FuseGeluPass, MergesWhatFullRecomputationRepeats) {
    auto spec = gpu_spec("gpt2");
    spec.recompute.kind = RecomputeKind::full;
    const auto found = gelus(spec);
    EXPECT_THAT(found.alone, IsEmpty());
    EXPECT_THAT(found.merged,
                ElementsAre(Direction::forward, Direction::recompute, Direction::backward_input));
}

TEST(FuseGeluPass, LeavesForwardAloneThatSelectiveRecomputationRepeats) {
    auto spec = gpu_spec("gpt2");
    spec.recompute.kind = RecomputeKind::selective;
    const auto found = gelus(spec);
    EXPECT_THAT(found.alone, ElementsAre(Direction::forward, Direction::recompute));
    EXPECT_THAT(found.merged, ElementsAre(Direction::backward_input));
}

TEST(FuseGeluPass, LeavesTheHostFloatsAndTheExactFormAlone) {
    auto on_host = gpu_spec("gpt2");
    on_host.tiers.device = spec::DeviceKind::host;
    auto in_floats = gpu_spec("gpt2");
    in_floats.precision.compute = spec::DType::f32;
    for (const auto& spec : {on_host, in_floats, gpu_spec("gpt_neox")}) {
        const auto found = gelus(spec);
        EXPECT_THAT(found.alone, ElementsAre(Direction::forward, Direction::backward));
        EXPECT_THAT(found.merged, IsEmpty());
    }
}

TEST(FuseGeluPass, MergesOnEveryRankOfATensorAxis) {
    auto spec = gpu_spec("gpt2");
    spec.parallel.tensor = 2;
    spec.parallel.ranks = 2;
    const auto found = gelus(spec);
    EXPECT_THAT(found.alone, IsEmpty());
    EXPECT_THAT(found.merged, ElementsAre(Direction::forward, Direction::backward_input));
}

}  // namespace
}  // namespace ziggurat::schedule
