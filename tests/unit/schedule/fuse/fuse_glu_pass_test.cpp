#include "schedule/fuse/fuse_glu_pass.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

using layout::PhaseKind;
using spec::RecomputeKind;
using test::small_spec;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

/// Names of the first micro-batch's ops of a kind of phase, in list order.
struct Found {
    std::vector<std::string> forward, again, backward;
    std::vector<std::string> with_output;  ///< gradients that also write the output
};

spec::RunSpec selective_spec(const std::string& family = "llama") {
    auto spec = small_spec(family);
    spec.recompute.kind = RecomputeKind::selective;
    return spec;
}

/// Returns the units of gated linear units.
///
/// Checks that each gradient with the output writes it over its input, and that products for gradients of
/// weights then read it.
Found glus(const spec::RunSpec& spec, int rank = 0) {
    const ModelLayout model{spec, rank};
    const auto program = build_program(spec, model, Variant::train);
    Found found;
    for (OpId at{0}; at < std::ssize(program.ops); ++at) {
        const auto& op = program.ops[at];
        if (op.kind != OpKind::compute || op.microbatch != 0 || op.phase < 0) {
            continue;
        }
        const auto& unit = model.table.units[op.unit];
        const auto kind = unit.phases[op.phase].kind;
        if (kind != PhaseKind::swiglu && kind != PhaseKind::geglu) {
            EXPECT_EQ(program.find_write(op, Role::activated), nullptr) << op.label;
            continue;
        }
        auto& ops = op.direction == Direction::forward     ? found.forward
                    : op.direction == Direction::recompute ? found.again
                                                           : found.backward;
        ops.push_back(unit.name);
        if (const auto* const output = program.find_write(op, Role::activated)) {
            found.with_output.push_back(unit.name);
            EXPECT_EQ(op.direction, Direction::backward);
            EXPECT_EQ(output->buffer, program.find_read(op, Role::d_output)->buffer);
            const auto& next = program.ops[at + 1];
            EXPECT_EQ(next.direction, Direction::backward_weight) << next.label;
            EXPECT_EQ(next.phase, op.phase + 1);
            const auto* const input = program.find_read(next, Role::input);
            EXPECT_TRUE(input != nullptr && input->buffer == output->buffer) << next.label;
        }
    }
    return found;
}

TEST(FuseGluPass, RecomputesTheOutputInTheGradient) {
    for (const std::string family : {"llama", "gemma"}) {
        for (const auto kind : {RecomputeKind::selective, RecomputeKind::full}) {
            auto spec = selective_spec(family);
            spec.recompute.kind = kind;
            const auto found = glus(spec);
            EXPECT_THAT(found.forward, ElementsAre("layers.0"));
            EXPECT_THAT(found.again, IsEmpty());
            EXPECT_THAT(found.with_output, ElementsAre("layers.0"));
        }
    }
}

/// Only inputs that are made again are overwritten: saved ones may leave the device.
TEST(FuseGluPass, WritesTheGradientOverRecomputedInputs) {
    for (const auto kind : {RecomputeKind::selective, RecomputeKind::full}) {
        auto spec = selective_spec();
        spec.recompute.kind = kind;
        const ModelLayout model{spec, 0};
        const auto program = build_program(spec, model, Variant::train);
        int gradients = 0;
        for (const auto& op : program.ops) {
            if (program.find_write(op, Role::activated) != nullptr) {
                const bool is_same = program.find_read(op, Role::input)->buffer ==
                                     program.find_write(op, Role::d_input)->buffer;
                EXPECT_EQ(is_same, kind == RecomputeKind::full);
                ++gradients;
            }
        }
        EXPECT_EQ(gradients, 2) << "of two micro-batches";
    }
}

TEST(FuseGluPass, ChangesNothingWithoutRecomputation) {
    const auto found = glus(small_spec());
    EXPECT_THAT(found.backward, ElementsAre("layers.0"));
    EXPECT_THAT(found.with_output, IsEmpty());
}

/// Layer 1 is recomputed from the output of layer 0, so the clone of layer 0 has to make its output.
TEST(FuseGluPass, KeepsClonesWhoseOutputClonesRead) {
    auto spec = selective_spec();
    spec.model.layers = 2;
    spec.recompute = {.kind = RecomputeKind::full, .every = 2};
    const auto found = glus(spec);
    EXPECT_THAT(found.again, ElementsAre("layers.0"));
    EXPECT_THAT(found.with_output, ElementsAre("layers.1"));
}

TEST(FuseGluPass, FusesWhatARuleRecomputes) {
    auto spec = small_spec();
    spec.recompute.fates = {{"mlp.active", spec::ActivationFate::recompute}};
    EXPECT_THAT(glus(spec).with_output, ElementsAre("layers.0"));
}

TEST(FuseGluPass, FusesOnTensorRanksAndWithAdapters) {
    auto split = selective_spec();
    split.parallel.tensor = split.parallel.ranks = 2;
    EXPECT_THAT(glus(split).with_output, ElementsAre("layers.0"));

    auto adapted = selective_spec();
    adapted.model.lora = {.rank = 4, .alpha = 4, .targets = {"attention.q", "mlp.down"}};
    adapted.train.only = {"*.lora_?"};
    EXPECT_THAT(glus(adapted).with_output, ElementsAre("layers.0"));
}

TEST(FuseGluPass, LeavesDeferredProductsAlone) {
    auto spec = selective_spec();
    spec.model.layers = 4;
    spec.model.tie_embeddings = false;
    spec.parallel.stages = spec.parallel.ranks = 2;
    spec.parallel.pipeline_schedule = spec::PipelineSchedule::zero_bubble;
    const auto found = glus(spec, 1);
    EXPECT_THAT(found.again, Not(IsEmpty()));
    EXPECT_THAT(found.with_output, IsEmpty());
}

}  // namespace
}  // namespace ziggurat::schedule
