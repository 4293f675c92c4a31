/// Reading and writing whole tensors of sharded state, and the hash over all state.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "layout/families/family.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using schedule::StateKind;

/// An assembly with the objects that it refers to.
struct Model {
    Model(const spec::RunSpec& asked, const comm::Context& group)
        : run{asked}, assembly{run, group, test::processors_for_tests(1)} {}

    spec::RunSpec run;
    Assembly assembly;
};

int ranks() {
    return test::world().size();
}

spec::RunSpec zero_3(const std::string& family, int over) {
    auto run = test::tiny_run(family, over, 1, 2);
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = over;
    return run;
}

/// Returns multiples of one half that repeat after 200 elements. All are exact in bf16.
std::vector<float> ramp(std::size_t size) {
    std::vector<float> values(size);
    for (std::size_t i = 0; i < size; ++i) {
        values[i] = static_cast<float>(i % 200) / 2;
    }
    return values;
}

class TensorAccess : public ::testing::TestWithParam<std::string> {};

TEST_P(TensorAccess, GathersWhatOneRankAloneHolds) {
    const auto myself = test::world().group().split(test::world().rank());
    Model alone{zero_3(GetParam(), 1), test::world().in(myself)};
    Model spread{zero_3(GetParam(), ranks()), test::world()};

    const auto expected = test::all_tensors(alone.assembly, alone.run, StateKind::parameters);
    EXPECT_EQ(test::all_tensors(spread.assembly, spread.run, StateKind::parameters), expected);
}

TEST_P(TensorAccess, GivesBackWhatWasSet) {
    auto run = zero_3(GetParam(), ranks());
    run.precision.compute = spec::DType::bf16;
    Model model{run, test::world()};
    for (const auto& [name, old] : test::all_tensors(model.assembly, model.run, StateKind::master)) {
        const auto values = ramp(old.size());
        model.assembly.set_tensor(name, values);

        EXPECT_EQ(model.assembly.tensor(StateKind::master, name), values) << name;
        EXPECT_EQ(model.assembly.tensor(StateKind::parameters, name), values) << name;
    }
}

TEST_P(TensorAccess, GathersGradientsOfEverySpan) {
    auto run = test::tiny_run(GetParam(), ranks(), 1, 2);
    run.train.steps = 1;
    for (const auto plan : {spec::ReducePlan::at_end, spec::ReducePlan::each_microbatch}) {
        run.sharding = {.reduce = plan, .sum_group = ranks()};
        const auto expected = test::train_on_host(run, test::world(), test::Keep::tensors);
        run.sharding.optimizer = ranks();
        EXPECT_EQ(test::train_tiny(run, test::world(), test::Keep::tensors).gradients, expected.gradients);
        run.sharding.gradients = ranks();
        EXPECT_EQ(test::train_tiny(run, test::world(), test::Keep::tensors).gradients, expected.gradients);
        run.sharding.parameters = ranks();
        EXPECT_EQ(test::train_tiny(run, test::world(), test::Keep::tensors).gradients, expected.gradients);
    }
}

TEST_P(TensorAccess, HashIsThatOfOneRankAlone) {
    const auto myself = test::world().group().split(test::world().rank());
    Model alone{zero_3(GetParam(), 1), test::world().in(myself)};
    Model whole{test::tiny_run(GetParam(), ranks(), 1, 2), test::world()};
    Model spread{zero_3(GetParam(), ranks()), test::world()};

    EXPECT_EQ(whole.assembly.weights_hash(), alone.assembly.weights_hash());
    EXPECT_EQ(spread.assembly.weights_hash(), alone.assembly.weights_hash());
}

TEST_P(TensorAccess, HashIsThatOfOneRankAloneOnEveryAxis) {
    const auto myself = test::world().group().split(test::world().rank());
    auto run = zero_3(GetParam(), 1);
    run.model.hidden = 48;
    run.model.heads = 12;  // so that four ranks share two key-value heads
    run.model.head_dim = 4;
    run.model.ffn_hidden = 60;
    run.model.kv_heads = run.model.kv_heads == 2 ? 2 : 12;
    Model alone{run, test::world().in(myself)};
    const auto expected = alone.assembly.weights_hash();
    run.parallel.ranks = run.parallel.ranks_per_node = ranks();
    run.parallel.tensor = ranks() == 3 && run.model.kv_heads == 2 ? 1 : ranks();
    run.parallel.data = ranks() / run.parallel.tensor;
    run.train.global_batch *= run.parallel.data;
    run.sharding.sum_group = run.parallel.data;
    run.model.vocab_padded = 96;
    Model sliced{run, test::world()};
    EXPECT_EQ(sliced.assembly.weights_hash(), expected);
    if (ranks() % 2 == 0) {
        run.parallel.tensor = ranks() / 2;
        run.parallel.stages = 2;
        Model staged{run, test::world()};
        EXPECT_EQ(staged.assembly.weights_hash(), expected);
    }
}

TEST_P(TensorAccess, HashSeesAFlippedBitAnywhere) {
    auto run = zero_3(GetParam(), ranks());
    run.precision.compute = spec::DType::bf16;  // parameters lack the lowest bits of a master weight
    Model model{run, test::world()};
    const auto before = model.assembly.weights_hash();
    std::set<std::uint64_t> seen{before};
    std::size_t flips = 0;
    for (auto [name, values] : test::all_tensors(model.assembly, model.run, StateKind::master)) {
        for (const auto at : {std::size_t{0}, values.size() / 3, values.size() - 1}) {
            auto changed = values;
            changed[at] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(changed[at]) ^ 1u);
            model.assembly.set_tensor(name, changed);
            seen.insert(model.assembly.weights_hash());
            ++flips;
        }
        model.assembly.set_tensor(name, values);
    }
    EXPECT_EQ(seen.size(), flips + 1) << "every flip is seen, and as a different number";
    EXPECT_EQ(model.assembly.weights_hash(), before);
}

TEST_P(TensorAccess, HashSeesTwoElementsChangePlaces) {
    Model model{zero_3(GetParam(), ranks()), test::world()};
    const auto before = model.assembly.weights_hash();
    const std::string name = "embedding.token";
    auto values = model.assembly.tensor(StateKind::parameters, name);
    std::swap_ranges(values.begin(), values.begin() + 256, values.begin() + 256);
    model.assembly.set_tensor(name, values);
    EXPECT_NE(model.assembly.weights_hash(), before) << "whole blocks have changed places";
}

INSTANTIATE_TEST_SUITE_P(Families, TensorAccess, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return made.param == "gpt2" ? "Gpt2" : "Llama";
});

}  // namespace
}  // namespace ziggurat::train
