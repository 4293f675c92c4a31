/// Trainings of adapters: base at step 0, gradients against those of the merged weights.
///
/// Sharding, homes, recomputation and resuming do not change results.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "layout/families/adapters.hpp"
#include "tests/support/class_b.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_checkpoints.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using test::Keep;
using test::TinyOutcome;

int ranks() {
    return test::world().size();
}

TinyOutcome train(const spec::RunSpec& run, Keep keep = Keep::nothing, const test::TinyHooks& hooks = {}) {
    return test::train_tiny(run, test::world(), keep, {}, hooks);
}

void expect_same_bits(const TinyOutcome& ours, const TinyOutcome& expected) {
    EXPECT_EQ(ours.losses, expected.losses);
    EXPECT_EQ(ours.norms, expected.norms);
    EXPECT_EQ(ours.weights_hash, expected.weights_hash);
    EXPECT_EQ(ours.evaluated, expected.evaluated);
}

struct Training {
    std::string family;
    std::vector<std::string> targets;
    spec::DType compute = spec::DType::f32;
};

spec::RunSpec with_adapters(spec::RunSpec run, const Training& training) {
    run.precision.compute = training.compute;
    run.model.lora = {.rank = 3, .alpha = 5, .targets = training.targets};
    run.train.only = layout::patterns_of_adapters();
    return run;
}

/// Returns the run with the weights of its layers in tiles.
spec::RunSpec in_tiles(spec::RunSpec run) {
    run.tiers.tiles = {{.match = "layers.*", .in = 1, .out = 3}};
    return run;
}

/// Returns a different nonzero number for each element of a tensor, so that no factor is zero.
std::vector<float> numbers(const std::string& name, std::size_t size) {
    std::vector<float> made(size);
    for (std::size_t i = 0; i < size; ++i) {
        made[i] = 0.04F * std::sin(static_cast<float>(i) * 1.7F + static_cast<float>(name.size() + name[7]));
    }
    return made;
}

/// Returns the weights that have an adapter, with their extents.
std::vector<layout::Parameter> adapted(const spec::RunSpec& run) {
    std::vector<layout::Parameter> found;
    for (const auto& unit : layout::family_table(run.model, {}).units) {
        for (const auto& parameter : unit.parameters) {
            if (layout::has_adapter(run.model, parameter.name)) {
                found.push_back(parameter);
            }
        }
    }
    return found;
}

class Adapters : public ::testing::TestWithParam<Training> {
  protected:
    static spec::RunSpec base() {
        auto run = test::tiny_run(GetParam().family, ranks(), 2, 2);
        run.precision.compute = GetParam().compute;
        run.train.steps = 3;
        return run;
    }
    static spec::RunSpec run() { return with_adapters(base(), GetParam()); }
};

TEST_P(Adapters, BeginAsTheBase) {
    const auto whole = train(base(), Keep::tensors);
    const auto ours = train(run(), Keep::tensors);

    EXPECT_EQ(ours.losses.front(), whole.losses.front());
    EXPECT_NE(ours.losses.back(), ours.losses.front()) << "nothing was learnt";
    for (const auto& [name, values] : ours.gradients) {
        EXPECT_TRUE(layout::is_of_adapter(name)) << name;
        const bool is_zero = std::ranges::all_of(values, [](float value) { return value == 0; });
        EXPECT_EQ(is_zero, name.ends_with("lora_a")) << name << ": that of A meets a B of zeros";
    }
}

/// y = x (W + f B A)^T: with the gradient G of the merged weight, dA = f B^T G and dB = f G A^T.
TEST_P(Adapters, HaveTheGradientsThatTheMergedWeightsSay) {
    auto one_step = run();
    one_step.train.steps = 1;
    const auto weights = adapted(one_step);
    const auto rank = static_cast<std::size_t>(one_step.model.lora.rank);
    const auto factor = one_step.model.lora.factor();
    test::Tensors factors, merged;
    const test::TinyHooks with_factors{.begin = [&](Assembly& assembly) {
        for (const auto& weight : weights) {
            const auto out = static_cast<std::size_t>(weight.extents[0]);
            const auto in = static_cast<std::size_t>(weight.extents[1]);
            const auto a = layout::lora_a_of(weight.name), b = layout::lora_b_of(weight.name);
            assembly.set_tensor(b, numbers(b, out * rank));
            factors[a] = assembly.tensor(schedule::StateKind::parameters, a);
            factors[b] = assembly.tensor(schedule::StateKind::parameters, b);
            auto& sum = merged[weight.name] = assembly.tensor(schedule::StateKind::parameters, weight.name);
            for (std::size_t i = 0; i < out * in; ++i) {
                double added = 0;
                for (std::size_t k = 0; k < rank; ++k) {
                    added += double{factors[b][i / in * rank + k]} * double{factors[a][k * in + i % in]};
                }
                sum[i] = static_cast<float>(double{sum[i]} + factor * added);
            }
        }
        return std::int64_t{0};
    }};
    const std::array trained{train(one_step, Keep::tensors, with_factors),
                             train(in_tiles(one_step), Keep::tensors, with_factors)};
    auto whole = base();
    whole.train.steps = 1;
    const auto expected = train(whole, Keep::tensors, {.begin = [&](Assembly& assembly) {
                                    for (const auto& [name, values] : merged) {
                                        assembly.set_tensor(name, values);
                                    }
                                    return std::int64_t{0};
                                }});

    const bool is_f32 = GetParam().compute == spec::DType::f32;
    const auto gap = [](const std::vector<float>& x, const std::vector<double>& y) {
        double apart = 0, all = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            apart += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
            all += y[i] * y[i];
        }
        return std::sqrt(apart / all);
    };
    const double bound = is_f32 ? 2e-5 : 5e-2;
    for (const auto& ours : trained) {
        EXPECT_NEAR(ours.losses.front() / expected.losses.front(), 1, is_f32 ? 1e-6 : 1e-2);
    }
    for (const auto& weight : weights) {
        const auto out = static_cast<std::size_t>(weight.extents[0]);
        const auto in = static_cast<std::size_t>(weight.extents[1]);
        const auto& gradient = expected.gradients.at(weight.name);
        const auto a = layout::lora_a_of(weight.name), b = layout::lora_b_of(weight.name);
        std::vector<double> d_a(rank * in), d_b(out * rank);
        for (std::size_t k = 0; k < rank; ++k) {
            for (std::size_t i = 0; i < out * in; ++i) {
                const auto row = i / in, column = i % in;
                d_a[k * in + column] += factor * double{factors[b][row * rank + k]} * double{gradient[i]};
                d_b[row * rank + k] += factor * double{factors[a][k * in + column]} * double{gradient[i]};
            }
        }
        for (const auto& ours : trained) {
            EXPECT_LT(gap(ours.gradients.at(a), d_a), bound)
                << a << (&ours == &trained[1] ? " in tiles" : "");
            EXPECT_LT(gap(ours.gradients.at(b), d_b), bound)
                << b << (&ours == &trained[1] ? " in tiles" : "");
        }
    }
}

TEST_P(Adapters, HaveTheSameBitsHoweverTheyAreSharded) {
    const auto expected = train(run());
    const int d = ranks();
    using spec::RecomputeKind;
    const std::array kinds{RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full};
    const std::array<spec::Sharding, 3> ways{{{1, 1, d}, {1, d, d}, {d, d, d}}};
    for (std::size_t k = 0; k < ways.size(); ++k) {
        auto ours = run();
        ours.sharding = ways[k];
        ours.sharding.sum_group = d;
        ours.recompute.kind = kinds[k];
        ours.overlap.bucket_elements = ways[k].parameters > 1 ? 2000 : 0;
        SCOPED_TRACE("ZeRO " + std::to_string(k + 1));
        expect_same_bits(train(ours), expected);
    }
}

TEST_P(Adapters, HaveTheSameBitsWhereverTheyAreAtHome) {
    const test::ScratchFolder folder;
    const auto expected = train(run());
    const spec::Home host{0, 1, 0}, nvme{0, 0, 1}, shares{0.25, 0.35, 0.4};
    for (const auto& home : {host, nvme, shares}) {
        auto ours = run();
        const int span = home == nvme ? 1 : ranks();
        ours.sharding.parameters = ours.sharding.gradients = ours.sharding.optimizer = span;
        ours.tiers.chunk_elements = 512;
        ours.tiers.nvme_block_bytes = 8192;
        ours.tiers.nvme_paths = {folder.path()};
        ours.tiers.parameters = ours.tiers.gradients = ours.tiers.optimizer = ours.tiers.activations = home;
        SCOPED_TRACE("span " + std::to_string(span) + ", host " + std::to_string(home.host));
        expect_same_bits(train(ours), expected);
    }
}

TEST_P(Adapters, GoOnFromACheckpointAsIfNothingHadHappened) {
    const auto expected = train(run());
    const test::SharedFolder folder{test::world()};
    auto ours = run();
    ours.sharding.parameters = ours.sharding.gradients = ours.sharding.optimizer = ranks();
    ours.run.dir = folder.file("run");
    ours.checkpoint.every = spec::Interval{.steps = 1};
    test::train_and_save(ours, test::world(), Keep::nothing, 2);
    const auto rest = test::train_and_save(ours, test::world(), Keep::nothing, 3);
    EXPECT_EQ(rest.steps_before, 2);
    EXPECT_EQ(rest.training.losses, std::vector{expected.losses.back()});
    EXPECT_EQ(rest.training.weights_hash, expected.weights_hash);
}

/// Forward is equal bit for bit. Gradients of inputs are sums over tiles, so later steps are near.
TEST_P(Adapters, TrainAlikeInTilesOfTheirWeights) {
    const auto expected = train(run(), Keep::tensors);
    const auto ours = train(in_tiles(run()), Keep::tensors);
    EXPECT_EQ(ours.losses.front(), expected.losses.front());
    if (GetParam().compute == spec::DType::f32) {
        test::expect_class_b(ours, expected);
    }
}

TEST_P(Adapters, InTilesHaveTheSameBitsWhateverTheShardingAndTheHomes) {
    const test::ScratchFolder folder;
    auto tiled = in_tiles(run());
    tiled.tiers.chunk_elements = 512;
    tiled.tiers.nvme_block_bytes = 8192;
    tiled.tiers.nvme_paths = {folder.path()};
    const auto expected = train(tiled);
    const int d = ranks();
    using spec::RecomputeKind;
    const std::array kinds{RecomputeKind::none, RecomputeKind::selective, RecomputeKind::full};
    const std::array<spec::Sharding, 3> shardings{{{1, 1, d}, {1, d, d}, {d, d, d}}};
    const std::array<spec::Home, 3> homes{{{0, 1, 0}, {0, 0, 1}, {0.25, 0.35, 0.4}}};
    for (std::size_t k = 0; k < homes.size(); ++k) {
        auto sharded = tiled;
        sharded.sharding = shardings[k];
        sharded.sharding.sum_group = d;
        sharded.recompute.kind = kinds[k];
        SCOPED_TRACE("ZeRO " + std::to_string(k + 1));
        expect_same_bits(train(sharded), expected);
        for (auto spec::Tiers::*kind : {&spec::Tiers::parameters, &spec::Tiers::gradients,
                                        &spec::Tiers::optimizer, &spec::Tiers::activations}) {
            sharded.tiers.*kind = homes[k];
        }
        SCOPED_TRACE("host " + std::to_string(homes[k].host) + ", NVMe " + std::to_string(homes[k].nvme));
        expect_same_bits(train(sharded), expected);
    }
}

/// Only the order of sums differs.
TEST_P(Adapters, TrainAlikeOnTheTensorAxisAndInAPipeline) {
    if (ranks() % 2 != 0 || GetParam().compute != spec::DType::f32) {
        GTEST_SKIP() << "an axis of two ranks is asked for";
    }
    auto alone = with_adapters(test::tiny_run(GetParam().family, 1, 2, 2), GetParam());
    alone.train.steps = 10;
    alone.model.layers = std::max<std::int64_t>(alone.model.layers, ranks() / 2);
    const comm::Communicator myself = test::world().group().split(test::world().rank());
    const auto expected = test::train_tiny(alone, test::world().in(myself), Keep::tensors);
    auto ours = alone;
    ours.parallel.ranks = ours.parallel.ranks_per_node = ranks();
    ours.parallel.tensor = 2;
    ours.parallel.stages = ranks() / 2;
    for (const bool sequence : {false, true}) {
        if (sequence && ours.data.seq * ours.train.micro_batch % 2 != 0) {
            continue;
        }
        ours.parallel.sequence = sequence;
        test::expect_class_b(train(ours, Keep::tensors), expected);
        test::expect_class_b(train(in_tiles(ours), Keep::tensors), expected);
    }
}

/// Four ranks are a grid, eight a cube. The second half resumes in mode 1d.
TEST_P(Adapters, TrainAlikeOnAGridAndResumeInAnotherLayout) {
    if (ranks() < 4 || GetParam().compute != spec::DType::f32) {
        GTEST_SKIP() << "four or eight ranks are asked for";
    }
    auto alone = with_adapters(test::tiny_run(GetParam().family, 1, 1, 4), GetParam());
    alone.train.steps = 6;
    const comm::Communicator myself = test::world().group().split(test::world().rank());
    const auto expected = test::train_tiny(alone, test::world().in(myself), Keep::tensors);
    const auto on_ranks = [&](int data, int rows) {
        auto made = alone;
        auto& parallel = made.parallel;
        parallel.ranks = parallel.ranks_per_node = ranks();
        parallel.tensor = 2;
        parallel.tensor_rows = rows;
        parallel.data = made.sharding.sum_group = data;
        made.train.micro_batches = made.train.global_batch / parallel.sequence_groups();
        return made;
    };
    const test::SharedFolder folder{test::world()};
    auto grid = on_ranks(ranks() / 4, 2);
    grid.parallel.tensor_mode = ranks() == 8 ? spec::TensorMode::three_d : spec::TensorMode::two_d;
    grid.parallel.tensor_depth = grid.parallel.data;
    grid.sharding.parameters = grid.sharding.gradients = grid.sharding.optimizer = grid.parallel.data;
    auto rest = on_ranks(ranks() / 2, 1);
    for (auto* run : {&grid, &rest}) {
        run->run.dir = folder.file("run");
        run->checkpoint.every = spec::Interval{.steps = 1};
    }
    auto ours = test::train_and_save(grid, test::world(), Keep::tensors, 3).training;
    const auto second = test::train_and_save(rest, test::world(), Keep::tensors, 6);

    EXPECT_EQ(second.steps_before, 3);
    ours.losses.insert(ours.losses.end(), second.training.losses.begin(), second.training.losses.end());
    ours.norms.insert(ours.norms.end(), second.training.norms.begin(), second.training.norms.end());
    ours.weights = second.training.weights;
    test::expect_class_b(ours, expected);
}

INSTANTIATE_TEST_SUITE_P(
    Trainings,
    Adapters,
    ::testing::Values(Training{"llama", {"attention.q", "attention.v"}},
                      Training{"llama", {"attention.k", "attention.out", "mlp.*"}, spec::DType::bf16},
                      Training{"gpt2", {"*"}},
                      Training{"gpt_neox", {"attention.v", "mlp.down"}},
                      Training{"olmo2", {"attention.q", "mlp.*"}}));

}  // namespace
}  // namespace ziggurat::train
