/// Norms by unit: those of the tensors, and the same on every layout and with every movement of state.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "layout/families/adapters.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::Home;
using test::Keep;
using test::TinyOutcome;

constexpr Home host{0, 1, 0};
constexpr Home nvme{0, 0, 1};
constexpr Home shares{0.25, 0.35, 0.4};
constexpr std::int64_t samples = 8;

/// A way to spread a training and to move its state.
struct Spread {
    const char* name;
    int ranks;
    std::function<void(spec::RunSpec&)> change;
};

/// Returns a run of two steps whose norms are reported.
spec::RunSpec run_of(const std::string& family, int data) {
    auto run = test::tiny_run(family, data, 2, samples / 2 / data);
    run.model.hidden = 48;
    run.model.heads = 12;
    run.model.kv_heads = run.model.kv_heads < 6 ? 2 : 12;
    run.model.head_dim = 4;
    run.model.ffn_hidden = 60;
    run.data.seq = 12;
    run.logging.norms = 1;
    run.optimizer.clip_norm = 0.5;
    return run;
}

/// Moves data ranks to other axes.
void set_data(spec::RunSpec& run, int data) {
    run.parallel.data = data;
    run.train.micro_batches = samples / 2 / data;
    run.sharding.sum_group = data;
}

void set_zero3(spec::RunSpec& run) {
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = run.parallel.data;
}

std::vector<Spread> spreads() {
    using spec::RunSpec;
    return {
        {"data", 2, [](RunSpec&) {}},
        {"data 4", 4, [](RunSpec&) {}},
        {"zero 1", 2, [](RunSpec& run) { run.sharding.optimizer = 2; }},
        {"zero 2", 4, [](RunSpec& run) { run.sharding.optimizer = run.sharding.gradients = 4; }},
        {"zero 3", 2, set_zero3},
        {"zero 3 on 4", 4, set_zero3},
        {"amsp 1 2 4", 4, [](RunSpec& run) { run.sharding.gradients = 2, run.sharding.optimizer = 4; }},
        {"tensor", 2, [](RunSpec& run) { set_data(run, 1), run.parallel.tensor = 2; }},
        {"tensor shares key heads", 4, [](RunSpec& run) { set_data(run, 1), run.parallel.tensor = 4; }},
        {"tensor and data, zero 3", 4,
         [](RunSpec& run) {
             set_data(run, 2), run.parallel.tensor = 2;
             set_zero3(run);
         }},
        {"sequence", 2,
         [](RunSpec& run) { set_data(run, 1), run.parallel.tensor = 2, run.parallel.sequence = true; }},
        {"stages", 2, [](RunSpec& run) { set_data(run, 1), run.parallel.stages = 2; }},
        {"stages and tensor", 4,
         [](RunSpec& run) { set_data(run, 1), run.parallel.stages = 2, run.parallel.tensor = 2; }},
        {"stages and data, zero 1", 4,
         [](RunSpec& run) {
             set_data(run, 2), run.parallel.stages = 2;
             run.sharding.optimizer = 2;
         }},
        {"on the host", 1, [](RunSpec& run) { run.tiers.gradients = run.tiers.optimizer = host; }},
        {"on nvme", 1, [](RunSpec& run) { run.tiers.gradients = host, run.tiers.optimizer = nvme; }},
        {"in shares", 1,
         [](RunSpec& run) { run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer = shares; }},
        {"in shares, zero 3", 2,
         [](RunSpec& run) {
             run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer = shares;
             run.sharding.reduce = spec::ReducePlan::each_microbatch;
             set_zero3(run);
         }},
        {"speculating", 1,
         [](RunSpec& run) {
             run.tiers.gradients = run.tiers.optimizer = host;
             run.overlap.optimizer_with_backward = true;
         }},
        {"speculating on nvme", 2,
         [](RunSpec& run) {
             run.tiers.gradients = host, run.tiers.optimizer = nvme;
             run.overlap.optimizer_with_backward = true;
             run.sharding.reduce = spec::ReducePlan::each_microbatch;
             set_zero3(run);
         }},
    };
}

/// Names the unit of a tensor as norms do.
std::string unit_of(std::string_view tensor) {
    if (tensor.starts_with("layers.")) {
        const auto number = std::string{tensor.substr(7, tensor.find('.', 7) - 7)};
        return "layer." + std::string(2 - number.size(), '0') + number;
    }
    return tensor.starts_with("embedding.") ? "embedding" : "head";
}

/// Returns the norms of the tensors of each unit, minus those of `base` if it is not empty.
std::map<std::string, double> norms_of(const test::Tensors& tensors, const test::Tensors& base = {}) {
    std::map<std::string, double> squares;
    for (const auto& [name, values] : tensors) {
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double value = base.empty() ? values[i] : values[i] - base.at(name)[i];
            squares[unit_of(name)] += value * value;
        }
    }
    for (auto& [unit, square] : squares) {
        square = std::sqrt(square);
    }
    return squares;
}

void expect_equal(const std::vector<UnitNorms>& ours, const std::vector<UnitNorms>& expected, double bound) {
    ASSERT_EQ(ours.size(), expected.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
        EXPECT_EQ(ours[i].unit, expected[i].unit);
        for (const auto& [name, norm] : norm_kinds) {
            EXPECT_GT(expected[i].*norm, 0) << name << " of " << ours[i].unit;
            EXPECT_NEAR(ours[i].*norm / (expected[i].*norm), 1, bound) << name << " of " << ours[i].unit;
        }
    }
}

class UnitNormsOf : public ::testing::TestWithParam<std::string> {};

TEST_P(UnitNormsOf, AreThoseOfTheTensors) {
    auto run = run_of(GetParam(), test::world().size() > 2 ? 1 : test::world().size());
    if (test::world().size() > 2) {
        run.parallel.tensor = test::world().size();
    }
    run.parallel.ranks = run.parallel.ranks_per_node = test::world().size();
    run.train.steps = 1;
    test::Tensors before;
    const auto ours =
        test::train_tiny(run, test::world(), Keep::tensors, {}, {.begin = [&](Assembly& assembly) {
                             before = test::all_tensors(assembly, run, schedule::StateKind::parameters);
                             return std::int64_t{0};
                         }});
    const auto gradients = norms_of(ours.gradients), weights = norms_of(ours.weights),
               updates = norms_of(ours.weights, before);
    ASSERT_EQ(ours.unit_norms.size(), 1U);
    ASSERT_EQ(ours.unit_norms.front().size(), 4U);  // embedding, two layers, head
    for (const auto& unit : ours.unit_norms.front()) {
        EXPECT_NEAR(unit.gradient / gradients.at(unit.unit), 1, 1e-9) << unit.unit;
        EXPECT_NEAR(unit.weights / weights.at(unit.unit), 1, 1e-9) << unit.unit;
        EXPECT_NEAR(unit.update / updates.at(unit.unit), 1, 1e-9) << unit.unit;
    }
}

TEST_P(UnitNormsOf, HaveTheGlobalNormAsSum) {
    auto run = run_of(GetParam(), test::world().size());
    const auto ours = test::train_tiny(run, test::world(), Keep::nothing);
    ASSERT_EQ(ours.unit_norms.size(), ours.norms.size());
    for (std::size_t step = 0; step < ours.norms.size(); ++step) {
        double squares = 0;
        for (const auto& unit : ours.unit_norms[step]) {
            squares += unit.gradient * unit.gradient;
        }
        EXPECT_NEAR(squares / (ours.norms[step] * ours.norms[step]), 1, 1e-14);
    }
}

TEST_P(UnitNormsOf, AreTheSameOnEveryLayout) {
    const comm::Communicator myself = test::world().group().split(test::world().rank());
    const auto alone = test::train_tiny(run_of(GetParam(), 1), test::world().in(myself), Keep::nothing);
    const test::ScratchFolder folder;
    for (const auto& spread : spreads()) {
        if (spread.ranks != test::world().size()) {
            continue;
        }
        SCOPED_TRACE(spread.name);
        auto run = run_of(GetParam(), spread.ranks);
        run.parallel.ranks = run.parallel.ranks_per_node = spread.ranks;
        run.tiers.chunk_elements = 4096;
        run.tiers.nvme_block_bytes = 8192;
        run.tiers.nvme_paths = {folder.path()};
        spread.change(run);
        const auto ours = test::train_tiny(run, test::world(), Keep::nothing);
        ASSERT_EQ(ours.unit_norms.size(), alone.unit_norms.size());
        expect_equal(ours.unit_norms.front(), alone.unit_norms.front(), 1e-6);
        // The second step begins with weights that differ by rounding.
        expect_equal(ours.unit_norms.back(), alone.unit_norms.back(), 1e-4);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, UnitNormsOf, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return made.param;
});

TEST(UnitNorms, AreThoseOfAdaptersAlone) {
    auto run = run_of("llama", test::world().size());
    run.model.lora = {.rank = 3, .alpha = 5, .targets = {"attention.*", "mlp.down"}};
    run.train.only = layout::patterns_of_adapters();
    run.train.steps = 1;
    const auto ours = test::train_tiny(run, test::world(), Keep::tensors);
    const auto gradients = norms_of(ours.gradients);
    test::Tensors trained;
    for (const auto& [name, gradient] : ours.gradients) {
        trained[name] = ours.weights.at(name);
    }
    const auto weights = norms_of(trained);
    ASSERT_EQ(ours.unit_norms.front().size(), 2U) << "embedding and head are frozen";
    for (const auto& unit : ours.unit_norms.front()) {
        EXPECT_NEAR(unit.gradient / gradients.at(unit.unit), 1, 1e-9) << unit.unit;
        EXPECT_NEAR(unit.weights / weights.at(unit.unit), 1, 1e-9) << unit.unit;
        EXPECT_GT(unit.update, 0) << unit.unit;
    }
}

/// Norms do not change a training. They are those of the repeated update, or of the speculative one.
TEST(UnitNorms, LeaveTheBitsOfTheTrainingAlone) {
    for (const double clip_norm : {0.5, 1e6}) {
        for (const bool speculates : {false, true}) {
            auto run = run_of("llama", test::world().size());
            run.optimizer.clip_norm = clip_norm;
            run.overlap.optimizer_with_backward = speculates;
            run.tiers.gradients = run.tiers.optimizer = host;
            const auto ours = test::train_tiny(run, test::world(), Keep::nothing);
            run.overlap.optimizer_with_backward = false;
            const auto expected = test::train_tiny(run, test::world(), Keep::nothing);
            run.logging.norms = 0;
            const auto without = test::train_tiny(run, test::world(), Keep::nothing);
            EXPECT_EQ(ours.weights_hash, without.weights_hash);
            EXPECT_EQ(ours.norms, without.norms);
            EXPECT_EQ(ours.losses, without.losses);
            for (std::size_t step = 0; step < ours.unit_norms.size(); ++step) {
                expect_equal(ours.unit_norms[step], expected.unit_norms[step], 0);
            }
        }
    }
}

/// Updates of other policies have their own norms; those of the first gradient are the same.
TEST(UnitNorms, AreThereWithEveryPolicyOfClipping) {
    const auto expected =
        test::train_tiny(run_of("llama", test::world().size()), test::world(), Keep::nothing);
    for (const auto policy :
         {spec::ClipPolicy::off, spec::ClipPolicy::previous_norm, spec::ClipPolicy::per_unit}) {
        for (const bool in_backward : {false, true}) {
            auto run = run_of("llama", test::world().size());
            run.optimizer.clip = policy;
            run.overlap.optimizer_with_backward = in_backward;
            const auto ours = test::train_tiny(run, test::world(), Keep::tensors);
            ASSERT_EQ(ours.unit_norms.size(), 2U);
            const auto weights = norms_of(ours.weights);
            for (std::size_t i = 0; i < ours.unit_norms.front().size(); ++i) {
                EXPECT_EQ(ours.unit_norms[0][i].gradient, expected.unit_norms[0][i].gradient);
                const auto& last = ours.unit_norms[1][i];
                EXPECT_NEAR(last.weights / weights.at(last.unit), 1, 1e-9);
                EXPECT_GT(last.update, 0);
            }
        }
    }
}

TEST(UnitNorms, AreThoseOfDelayedUpdatesToo) {
    auto run = run_of("llama", test::world().size());
    run.overlap.delayed_update = true;
    run.overlap.delayed_update_after = 1;
    run.train.steps = 3;
    const auto expected = test::train_tiny(run, test::world(), Keep::nothing);
    run.tiers.gradients = run.tiers.optimizer = host;
    const auto ours = test::train_tiny(run, test::world(), Keep::nothing);
    ASSERT_EQ(ours.unit_norms.size(), 3U);
    for (std::size_t step = 0; step < ours.unit_norms.size(); ++step) {
        expect_equal(ours.unit_norms[step], expected.unit_norms[step], 0);
    }
}

}  // namespace
}  // namespace ziggurat::train
