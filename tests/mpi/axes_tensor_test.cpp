/// The tensor axis: class B against one rank, class A of variants with the same order of sums, and sent
/// bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "comm/control.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/volumes/tensor_volumes.hpp"
#include "tests/support/class_b.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::Home;
using test::Keep;
using test::TinyOutcome;

/// Returns a run with twelve heads and a padded vocabulary, divisible by all tested degrees.
///
/// Each data rank has two micro-batches.
spec::RunSpec run_of(const std::string& family, int tensor, int data = 1) {
    auto run = test::tiny_run(family, data, 2, 2);
    run.model.hidden = 48;
    run.model.heads = 12;
    run.model.kv_heads = run.model.kv_heads < 6 ? (tensor % 3 == 0 ? 3 : 2) : 12;
    run.model.head_dim = 4;
    run.model.ffn_hidden = 60;
    run.model.rotary_fraction = run.model.rotary_fraction < 1 ? 0.5 : 1;
    run.parallel.tensor = tensor;
    run.parallel.ranks = run.parallel.ranks_per_node = tensor * data;
    return run;
}

/// Returns the same model on one rank, with all samples.
spec::RunSpec alone(spec::RunSpec run) {
    run.train.micro_batches *= run.parallel.data;
    run.parallel.tensor = run.parallel.data = run.parallel.ranks = run.parallel.ranks_per_node = 1;
    run.parallel.stages = 1;
    run.sharding = {};
    return run;
}

TinyOutcome train_alone(const spec::RunSpec& run) {
    const comm::Communicator myself = test::world().group().split(test::world().rank());
    return test::train_tiny(alone(run), test::world().in(myself), Keep::tensors);
}

int ranks() {
    return test::world().size();
}

void expect_same_bits(const TinyOutcome& ours, const TinyOutcome& expected) {
    EXPECT_EQ(ours.losses, expected.losses);
    EXPECT_EQ(ours.norms, expected.norms);
    EXPECT_EQ(ours.weights_hash, expected.weights_hash);
    EXPECT_EQ(ours.average_hash, expected.average_hash);
    EXPECT_EQ(ours.evaluated, expected.evaluated);
}

TEST(SharedHeads, TrainAsOneRankDoes) {
    for (const int key_heads : {1, 2, 3}) {
        if (ranks() % key_heads != 0 || ranks() == key_heads) {
            continue;
        }
        for (const bool is_tied : {false, true}) {
            SCOPED_TRACE(std::to_string(key_heads) + (is_tied ? " heads of keys, tied" : " heads of keys"));
            auto run = run_of("llama", ranks());
            run.model.kv_heads = key_heads;
            run.model.tie_embeddings = is_tied;
            run.train.steps = 20;
            test::expect_class_b(test::train_tiny(run, test::world(), Keep::tensors), train_alone(run));
        }
    }
}

/// All heads share the gains of their norms, so each rank has a part of the gradient.
TEST(NormsOfHeads, NeedTheSumOverTensorRanks) {
    auto run = run_of("qwen3", ranks());
    run.train.steps = 2;
    test::TinyHooks hooks;
    hooks.programs = [](train::Programs& programs) {
        int sums = 0;
        for (auto& op : programs.train.ops) {
            if (op.purpose == schedule::Purpose::gradients && op.label.ends_with(" over tensor")) {
                op.kind = schedule::OpKind::fill;
                op.blocks.clear();
                op.reads.clear();
                op.writes.clear();
                ++sums;
            }
        }
        EXPECT_GT(sums, 0);
    };

    const auto spoilt = test::train_tiny(run, test::world(), Keep::tensors, {}, hooks);

    const auto difference = test::class_b_difference(spoilt, train_alone(run));
    EXPECT_NE(difference.find("_norm.gain"), std::string::npos) << difference;
}

class Tensor : public ::testing::TestWithParam<std::string> {};

TEST_P(Tensor, TilesOfSlicesTrainAsOneRankDoes) {
    auto run = run_of(GetParam(), ranks());
    run.model.vocab = 3500;  // in slices of several tiles of 1024 rows, for two and three ranks
    run.model.vocab_padded = 3504;
    const auto expected = train_alone(run);
    run.tiers.tiles = {{.match = "*", .in = 1, .out = 3}};

    test::expect_class_b(test::train_tiny(run, test::world(), Keep::tensors), expected);
}

TEST_P(Tensor, KeepsItsBitsWhereverStateIsAndWhateverIsComputedAgain) {
    const test::ScratchFolder folder;
    const int data = ranks() % 2 == 0 ? 2 : 1;
    for (const bool has_tiles : {false, true}) {
        auto run = run_of(GetParam(), ranks() / data, data);
        run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = data;
        run.sharding.reduce = spec::ReducePlan::each_microbatch;
        run.tiers.chunk_elements = 4096;
        run.tiers.nvme_block_bytes = 8192;
        run.tiers.nvme_paths = {folder.path()};
        if (has_tiles) {
            run.tiers.tiles = {{.match = "*", .in = 1, .out = 2}};
        }
        const auto expected = test::train_on_host(run, test::world());
        for (const auto kind : {spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
            auto again = run;
            again.recompute.kind = kind;
            again.recompute.every = kind == spec::RecomputeKind::full ? 2 : 1;
            again.overlap.prefetch = 3;
            expect_same_bits(test::train_tiny(again, test::world(), Keep::nothing), expected);
        }
        for (const Home home : {Home{0, 1, 0}, Home{0, 0, 1}, Home{0.25, 0.35, 0.4}}) {
            auto away = run;
            away.recompute.kind = spec::RecomputeKind::full;
            away.overlap.prefetch = 2;
            away.tiers.parameters = away.tiers.gradients = home;
            away.tiers.optimizer = away.tiers.activations = home;
            expect_same_bits(test::train_tiny(away, test::world(), Keep::nothing), expected);
        }
    }
}

TEST_P(Tensor, TrainsInBfloat16) {
    auto run = run_of(GetParam(), ranks());
    const auto expected = train_alone(run);
    run.precision.compute = spec::DType::bf16;

    const auto ours = test::train_tiny(run, test::world(), Keep::tensors);

    ASSERT_EQ(ours.losses.size(), expected.losses.size());
    for (std::size_t step = 0; step < ours.losses.size(); ++step) {
        EXPECT_NEAR(ours.losses[step] / expected.losses[step], 1, 0.01) << "step " << step;
        EXPECT_NEAR(ours.norms[step] / expected.norms[step], 1, 0.05) << "step " << step;
    }
}

TEST_P(Tensor, SendsWhatTheFormulaSays) {
    for (const auto kind : {spec::RecomputeKind::none, spec::RecomputeKind::full}) {
        auto run = run_of(GetParam(), ranks());
        run.recompute.kind = kind;
        const schedule::ModelLayout model{run, test::world().rank()};
        test::train_tiny(run, test::world(), Keep::nothing, [&](const Assembly& assembly) {
            const auto moved = assembly.bytes_moved();
            // Vectors of few elements are not cut evenly: the formulas are those of all ranks together.
            std::int64_t of_all[] = {moved[static_cast<std::size_t>(schedule::Purpose::tensor)],
                                     moved[static_cast<std::size_t>(schedule::Purpose::gradients)]};
            comm::all_reduce_sum(test::world(), of_all);
            const auto steps = static_cast<double>(run.train.steps);
            const auto rounded = 2 * steps * static_cast<double>(run.model.layers);
            EXPECT_NEAR(static_cast<double>(of_all[0]) / ranks(),
                        steps * static_cast<double>(schedule::tensor_bytes_by_formula(run, model)),
                        3 * static_cast<double>(run.train.micro_batches) * rounded);
            EXPECT_NEAR(static_cast<double>(of_all[1]) / ranks(),
                        steps * schedule::gradient_sum_bytes_by_formula(run, model), rounded);
        });
    }
}

/// Results of a model with its initial values for one micro-batch.
struct Evaluated {
    std::vector<float> losses;
    std::vector<std::vector<float>> logits;  ///< logits of some rows
};

Evaluated evaluate(const spec::RunSpec& run, const comm::Context& world) {
    Assembly assembly{run, world, test::processors_for_tests(1)};
    const auto& slot = assembly.evaluate_slot();
    for (std::size_t i = 0; i < slot.tokens.size(); ++i) {
        const auto position = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % run.data.seq);
        slot.tokens[i] = static_cast<std::int32_t>((7 * i + 3) % static_cast<std::size_t>(run.model.vocab));
        slot.targets[i] = static_cast<std::int32_t>((5 * i + 1) % static_cast<std::size_t>(run.model.vocab));
        slot.positions[i] = position;
        slot.document_starts[i] = 0;
        slot.mask[i] = i % 3 != 0 ? 1 : 0;
    }
    Evaluated made;
    for (const std::int64_t row : {0, 13}) {
        assembly.watch_logits(row);
        assembly.evaluator().run_step();
        assembly.evaluator().finish();
        const auto logits = assembly.watched_logits();
        made.logits.emplace_back(logits.begin(), logits.end());
    }
    made.losses.assign(slot.losses.begin(), slot.losses.end());
    return made;
}

void expect_near(const std::vector<float>& ours, const std::vector<float>& expected, const char* what) {
    ASSERT_EQ(ours.size(), expected.size()) << what;
    for (std::size_t i = 0; i < ours.size(); ++i) {
        EXPECT_NEAR(ours[i], expected[i], 1e-5 * std::max(1.0F, std::abs(expected[i]))) << what << " " << i;
    }
}

TEST_P(Tensor, EvaluatesAndJoinsLogitsAsOneRankDoes) {
    const comm::Communicator myself = test::world().group().split(test::world().rank());
    for (const int stages : {1, 2}) {
        if (ranks() % stages != 0) {
            continue;
        }
        SCOPED_TRACE(std::to_string(stages) + " stages");
        auto run = run_of(GetParam(), ranks() / stages);
        run.parallel.stages = stages;
        run.parallel.ranks = run.parallel.ranks_per_node = ranks();
        const auto expected = evaluate(alone(run), test::world().in(myself));

        const auto ours = evaluate(run, test::world());

        if (schedule::ModelLayout{run, test::world().rank()}.stage == stages - 1) {
            expect_near(ours.losses, expected.losses, "loss");
        }
        for (std::size_t row = 0; row < expected.logits.size(); ++row) {
            expect_near(ours.logits[row], expected.logits[row], "logit");
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families,
                         Tensor,
                         ::testing::Values("gpt2", "llama", "qwen3", "granite", "gemma2", "gemma3", "olmo2"),
                         [](const auto& made) { return made.param; });

}  // namespace
}  // namespace ziggurat::train
