/// Class A of resuming: a training resumed on the same layout has the bits of one without interruption.
///
/// This holds after any step. A training that saves has the bits of one that does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <vector>

#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_checkpoints.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::DType;
using test::Keep;
using test::TinyOutcome;

constexpr std::int64_t steps = 4;

int ranks() {
    return test::world().size();
}

template <class Number>
bool same_bits(const std::vector<Number>& a, const std::vector<Number>& b) {
    using Bits = std::array<std::byte, sizeof(Number)>;
    return std::ranges::equal(
        a, b, [](Number x, Number y) { return std::bit_cast<Bits>(x) == std::bit_cast<Bits>(y); });
}

template <class Number>
std::vector<Number> from(const std::vector<Number>& all, std::int64_t first) {
    return {all.begin() + first, all.end()};
}

/// Checks that `ours` has the steps of `expected` after the first `before`.
void expect_rest(const TinyOutcome& ours, const TinyOutcome& expected, std::int64_t before) {
    EXPECT_TRUE(same_bits(ours.losses, from(expected.losses, before)));
    EXPECT_TRUE(same_bits(ours.norms, from(expected.norms, before)));
    EXPECT_EQ(ours.weights_hash, expected.weights_hash);
    EXPECT_EQ(ours.average_hash, expected.average_hash);
    EXPECT_TRUE(same_bits(ours.evaluated, expected.evaluated));
}

struct Layout {
    int parameters, gradients, optimizer, secondary;
    spec::ReducePlan reduce;
};

/// Returns ZeRO 0 and 3, and spans in between if there are enough ranks.
std::vector<Layout> layouts() {
    using spec::ReducePlan;
    const int d = ranks();
    std::vector<Layout> found{{1, 1, 1, 0, ReducePlan::at_end}};
    if (d > 1) {
        found.push_back({d, d, d, 0, ReducePlan::each_microbatch});
    }
    if (d == 4) {
        found.push_back({1, 2, 2, 0, ReducePlan::by_span});
        found.push_back({2, 2, 4, 0, ReducePlan::each_microbatch});
        found.push_back({4, 4, 4, 2, ReducePlan::each_microbatch});
    }
    return found;
}

spec::RunSpec spread(const std::string& family, DType compute, const Layout& layout) {
    auto run = test::tiny_run(family, ranks(), 1, 2);
    run.train.steps = steps;
    run.precision.compute = compute;
    run.sharding.parameters = layout.parameters;
    run.sharding.gradients = layout.gradients;
    run.sharding.optimizer = layout.optimizer;
    run.sharding.secondary = layout.secondary;
    run.sharding.reduce = layout.reduce;
    return run;
}

/// Trains without saving, then with a save after every step, then resumes from each checkpoint.
void expect_same_bits_after_any_step(spec::RunSpec run, bool is_async) {
    const test::SharedFolder folder{test::world()};
    const auto expected = test::train_on_host(run, test::world());

    run.run.dir = folder.file("run");
    run.checkpoint = {spec::Interval{.steps = 1}, 100, 0, is_async};
    const auto saving = test::train_and_save(run, test::world(), Keep::nothing, steps);
    expect_rest(saving.training, expected, 0);
    EXPECT_EQ(saving.saved_step, steps);

    run.checkpoint = {};
    run.run.resume = spec::Resume::path;
    for (std::int64_t step = 1; step < steps; ++step) {
        SCOPED_TRACE("after step " + std::to_string(step));
        run.run.dir = folder.file("from" + std::to_string(step));
        run.run.resume_path = folder.file("run/ckpt/step-00000000" + std::to_string(step));
        const auto resumed = test::train_and_save(run, test::world(), Keep::nothing, steps);
        ASSERT_EQ(resumed.steps_before, step);
        expect_rest(resumed.training, expected, step);
        EXPECT_EQ(resumed.saved_step, -1) << "no checkpoints were asked for";
    }
}

class Resuming : public ::testing::TestWithParam<bool> {};

TEST_P(Resuming, GivesTheSameBits) {
    bool is_odd = GetParam();
    for (const auto& layout : layouts()) {
        // Over both save modes: every family with every type; two of them for each layout.
        for (const std::string family : {"gpt2", "llama"}) {
            if (layouts().size() > 2 && (family == "gpt2") == GetParam()) {
                continue;  // tested with the other save mode
            }
            const auto compute = (family == "gpt2") == is_odd ? DType::f32 : DType::bf16;
            SCOPED_TRACE(std::string{family == "gpt2" ? "gpt2" : "llama"} +
                         (compute == DType::f32 ? ", f32" : ", bf16") + ", spans " +
                         std::to_string(layout.parameters) + " " + std::to_string(layout.gradients) + " " +
                         std::to_string(layout.optimizer) + ", second copy " +
                         std::to_string(layout.secondary));
            expect_same_bits_after_any_step(spread(family, compute, layout), GetParam());
        }
        is_odd = !is_odd;
    }
}

TEST_P(Resuming, GivesTheSameBitsWithFrozenTensors) {
    auto run = spread("llama", GetParam() ? DType::bf16 : DType::f32, layouts().back());
    run.train.only = {"layers.1.*", "*norm*"};
    expect_same_bits_after_any_step(run, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Saves, Resuming, ::testing::Bool(), [](const auto& made) {
    return made.param ? "Async" : "Sync";
});

TEST(Resume, GoesOnFromTheNewestByItself) {
    const test::SharedFolder folder{test::world()};
    auto run = spread("llama", DType::f32, layouts().back());
    const auto expected = test::train_on_host(run, test::world());
    run.run.dir = folder.file("run");
    run.checkpoint.every = spec::Interval{.steps = 1000};

    for (std::int64_t last = 1; last <= steps; ++last) {
        const auto outcome = test::train_and_save(run, test::world(), Keep::nothing, last);

        EXPECT_EQ(outcome.steps_before, last - 1);
        EXPECT_EQ(outcome.saved_step, last) << "a run that ends as asked saves first";
        EXPECT_EQ(outcome.training.losses.front(), expected.losses[static_cast<std::size_t>(last - 1)]);
    }
}

TEST(Resume, ReadsTheCheckpointOnceOverAllRanks) {
    const test::SharedFolder folder{test::world()};
    for (const auto& layout : layouts()) {
        auto run = spread("gpt2", DType::bf16, layout);
        run.run.dir = folder.file("spans" + std::to_string(layout.parameters) +
                                  std::to_string(layout.gradients) + std::to_string(layout.secondary));
        run.checkpoint.every = spec::Interval{.steps = 1000};
        test::train_and_save(run, test::world(), Keep::nothing, 1);

        const auto resumed = test::train_and_save(run, test::world(), Keep::nothing, 2);

        EXPECT_EQ(resumed.steps_before, 1);
        EXPECT_GT(resumed.bytes_read, resumed.bytes_on_disk / 2);
        // Such small tensors do not fill the blocks read. Reading everything twice would exceed this bound.
        EXPECT_LE(resumed.bytes_read, resumed.bytes_on_disk * 3 / 2);
    }
}

/// Tensors replicated over other axes, each most of a model.
///
/// They are key and value heads shared by tensor ranks, and a table on the first and the last stage.
TEST(Resume, ReadsReplicasOfOtherAxesOnce) {
    const int ranks = test::world().size();
    const test::SharedFolder folder{test::world()};
    for (const bool is_tied : {false, true}) {
        if (ranks == 1 || (is_tied && ranks > 2 && ranks % 2 != 0)) {
            continue;
        }
        SCOPED_TRACE(is_tied ? "a table on two stages" : "shared heads");
        auto run = test::tiny_run(is_tied ? "gpt2" : "llama", 1, 2, 2);
        run.precision.compute = DType::bf16;
        run.parallel.ranks = run.parallel.ranks_per_node = ranks;
        if (is_tied) {
            run.parallel.stages = 2;
            run.parallel.tensor = ranks / 2;
            run.model.vocab_padded = 2400;
            run.model.vocab = 2399;
        } else {
            run.parallel.tensor = ranks;
            run.model.heads = ranks;
            run.model.kv_heads = 1;
            run.model.head_dim = 256;
            run.model.ffn_hidden = 12;
            run.model.vocab_padded = 60;
        }
        run.run.dir = folder.file(is_tied ? "tied" : "shared");
        run.checkpoint.every = spec::Interval{.steps = 1000};
        test::train_and_save(run, test::world(), Keep::nothing, 1);

        const auto resumed = test::train_and_save(run, test::world(), Keep::nothing, 2);

        EXPECT_EQ(resumed.steps_before, 1);
        EXPECT_GT(resumed.bytes_read, resumed.bytes_on_disk / 2);
        // Small tensors do not fill the blocks read. Reading replicas again would exceed this bound.
        EXPECT_LE(resumed.bytes_read, resumed.bytes_on_disk * 7 / 4);
    }
}

}  // namespace
}  // namespace ziggurat::train
