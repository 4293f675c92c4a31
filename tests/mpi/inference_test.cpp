#include "train/inference.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/build_program.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

/// One micro-batch of this rank and its losses after a training.
struct Looked {
    test::Tensors weights;
    std::vector<std::int32_t> tokens, targets, positions, document_starts;
    std::vector<std::uint8_t> mask;
    std::vector<float> losses;
};

template <class E>
void copy(std::span<E> from, std::vector<E>& to) {
    to.assign(from.begin(), from.end());
}

Looked train_and_look(const spec::RunSpec& run, const comm::Context& world) {
    Looked looked;
    test::train_tiny(run, world, test::Keep::nothing, [&](const Assembly& assembly) {
        looked.weights = test::all_tensors(assembly, run, schedule::StateKind::parameters);
        const BatchSlot& slot = assembly.evaluate_slot();
        copy(slot.tokens, looked.tokens);
        copy(slot.targets, looked.targets);
        copy(slot.positions, looked.positions);
        copy(slot.document_starts, looked.document_starts);
        copy(slot.mask, looked.mask);
        copy(slot.losses, looked.losses);
    });
    return looked;
}

/// Returns the losses of the same micro-batch from a model that only evaluates.
std::vector<float> losses_of(const Looked& looked, const spec::RunSpec& run, const comm::Context& world) {
    Inference inference{run, world, test::processors_for_tests(run.parallel.threads)};
    for (const auto& [name, values] : looked.weights) {
        inference.assembly().set_tensor(name, values);
    }
    const BatchSlot& slot = inference.assembly().evaluate_slot();
    std::ranges::copy(looked.tokens, slot.tokens.begin());
    std::ranges::copy(looked.targets, slot.targets.begin());
    std::ranges::copy(looked.positions, slot.positions.begin());
    std::ranges::copy(looked.document_starts, slot.document_starts.begin());
    std::ranges::copy(looked.mask, slot.mask.begin());
    inference.assembly().evaluator().run_step();
    inference.assembly().evaluator().finish();
    return {slot.losses.begin(), slot.losses.end()};
}

class Evaluating : public ::testing::TestWithParam<std::string> {};

TEST_P(Evaluating, GivesTheBitsThatTrainingGivesWithoutItsState) {
    const comm::Context& world = test::world();
    for (const auto compute : {spec::DType::f32, spec::DType::bf16}) {
        for (const int span : {1, world.size()}) {
            auto run = test::tiny_run(GetParam(), world.size(), 2, 2);
            run.precision.compute = compute;
            run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = span;
            run.sharding.reduce = span > 1 ? spec::ReducePlan::each_microbatch : spec::ReducePlan::at_end;
            const Looked looked = train_and_look(run, world);

            const auto alone = evaluating(run, {world.size(), world.size(), 1}, 2);
            const auto losses = losses_of(looked, alone, world);

            EXPECT_EQ(losses, looked.losses);
            EXPECT_EQ(alone.sharding.parameters, span);
        }
    }
}

TEST_P(Evaluating, LeavesParametersAtTheirHome) {
    const comm::Context& world = test::world();
    const test::ScratchFolder folder;
    for (const spec::Home home : {spec::Home{0, 1, 0}, spec::Home{0, 0, 1}, spec::Home{0.25, 0.35, 0.4}}) {
        auto run = test::tiny_run(GetParam(), world.size(), 2, 2);
        run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = world.size();
        run.sharding.reduce = spec::ReducePlan::each_microbatch;
        run.tiers.chunk_elements = 4096;
        run.tiers.nvme_block_bytes = 8192;
        run.tiers.nvme_paths = {folder.path()};
        run.tiers.parameters = home;
        run.tiers.optimizer = spec::Home{0, 0, 1};
        const Looked looked = train_and_look(run, world);

        const auto alone = evaluating(run, {world.size(), world.size(), 1}, 2);
        const auto losses = losses_of(looked, alone, world);

        EXPECT_EQ(losses, looked.losses);
        const auto program = schedule::build_program(alone, world.rank(), schedule::Variant::evaluate);
        for (const auto& buffer : program.buffers) {
            if (buffer.state == schedule::StateKind::frozen &&
                buffer.lifetime == schedule::Lifetime::persistent) {
                EXPECT_TRUE(home.device > 0 || buffer.tier != spec::Tier::device) << buffer.name;
            }
        }
    }
}

TEST_P(Evaluating, HoldsNoStateButParameters) {
    const comm::Context& world = test::world();
    const auto run = evaluating(test::tiny_run(GetParam(), world.size(), 2, 2), {world.size(), 1, 1}, 2);

    const auto program = schedule::build_program(run, world.rank(), schedule::Variant::evaluate);

    for (const auto& buffer : program.buffers) {
        EXPECT_TRUE(buffer.lifetime != schedule::Lifetime::persistent || buffer.unit < 0 ||
                    buffer.state == schedule::StateKind::frozen)
            << buffer.name;
    }
}

INSTANTIATE_TEST_SUITE_P(Families, Evaluating, ::testing::Values("gpt2", "llama"));

}  // namespace
}  // namespace ziggurat::train
