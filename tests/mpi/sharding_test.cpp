/// Class A of sharding: with any sharding and execution, a training has the bits of ZeRO 0 with the
/// same sum plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tensor/bfloat16.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::ReducePlan;
using test::TinyOutcome;

struct Spans {
    int parameters = 1;
    int gradients = 1;
    int optimizer = 1;
    int secondary = 0;

    std::string text() const {
        return "spans " + std::to_string(parameters) + " " + std::to_string(gradients) + " " +
               std::to_string(optimizer) + ", second copy " + std::to_string(secondary);
    }
};

/// Returns ZeRO 1 to 3, AMSP's choices in between and with replicas, for `d` data ranks.
std::vector<Spans> ways_to_shard(int d) {
    std::vector<Spans> ways = {{1, 1, d}, {1, d, d}, {d, d, d}};
    if (d == 4) {
        ways.insert(ways.end(), {{1, 1, 2}, {1, 2, 2}, {2, 2, 2}, {2, 2, 4}, {2, 4, 4}});
        ways.insert(ways.end(), {{4, 4, 4, 2}, {2, 2, 4, 2}});
    } else if (d == 6) {
        ways.insert(ways.end(), {{1, 1, 2}, {1, 3, 3}, {2, 2, 2}, {3, 3, 6}, {2, 6, 6}});
        ways.insert(ways.end(), {{6, 6, 6, 2}, {6, 6, 6, 3}});
    }
    return ways;
}

spec::RunSpec sharded(spec::RunSpec run, const Spans& spans) {
    run.sharding.parameters = spans.parameters;
    run.sharding.gradients = spans.gradients;
    run.sharding.optimizer = spans.optimizer;
    run.sharding.secondary = spans.secondary;
    return run;
}

TinyOutcome train(const spec::RunSpec& run) {
    return test::train_tiny(run, test::world(), test::Keep::nothing);
}

template <class Number>
bool same_bits(const std::vector<Number>& a, const std::vector<Number>& b) {
    using Bits = std::array<std::byte, sizeof(Number)>;
    return std::ranges::equal(
        a, b, [](Number x, Number y) { return std::bit_cast<Bits>(x) == std::bit_cast<Bits>(y); });
}

void expect_same_bits(const TinyOutcome& ours, const TinyOutcome& expected) {
    EXPECT_TRUE(same_bits(ours.losses, expected.losses));
    EXPECT_TRUE(same_bits(ours.norms, expected.norms));
    EXPECT_EQ(ours.weights_hash, expected.weights_hash);
    EXPECT_EQ(ours.average_hash, expected.average_hash);
    EXPECT_TRUE(same_bits(ours.evaluated, expected.evaluated));
}

int ranks() {
    return test::world().size();
}

struct Training {
    std::string family;
    int micro_batches;
};

class Sharding : public ::testing::TestWithParam<Training> {
  protected:
    static spec::RunSpec run() {
        return test::tiny_run(GetParam().family, ranks(), 2, GetParam().micro_batches);
    }
};

TEST_P(Sharding, GivesTheBitsOfZeRO0) {
    for (const auto plan : {ReducePlan::at_end, ReducePlan::each_microbatch}) {
        auto run = this->run();
        run.sharding.reduce = plan;
        const auto expected = train(run);
        for (const auto& path : ways_to_shard(ranks())) {
            SCOPED_TRACE(path.text() + (plan == ReducePlan::at_end ? ", at_end" : ", each_microbatch"));
            expect_same_bits(train(sharded(run, path)), expected);
        }
    }
}

/// With by_span, the order of sums depends on the gradient span, but not on the other two.
TEST_P(Sharding, GivesTheSameBitsWithTheSameGradientSpan) {
    std::map<int, TinyOutcome> expected;
    auto ways = ways_to_shard(ranks());
    ways.insert(ways.begin(), Spans{});
    for (const auto& path : ways) {
        SCOPED_TRACE(path.text() + ", by_span");
        auto run = sharded(this->run(), path);
        run.sharding.reduce = ReducePlan::by_span;
        const auto ours = train(run);
        expect_same_bits(ours, expected.try_emplace(path.gradients, ours).first->second);
    }
}

INSTANTIATE_TEST_SUITE_P(Trainings,
                         Sharding,
                         ::testing::Values(Training{"gpt2", 1},
                                           Training{"gpt2", 3},
                                           Training{"llama", 1},
                                           Training{"llama", 3},
                                           Training{"gpt_neox", 3},
                                           Training{"olmo2", 3}),
                         [](const auto& made) {
                             return made.param.family + "_in_" + std::to_string(made.param.micro_batches);
                         });

/// Returns ZeRO 3, and spans with a replica that involve several groups.
std::vector<Spans> busy_ways() {
    const int d = ranks();
    std::vector<Spans> ways = {{d, d, d}};
    if (d == 4 || d == 6) {
        ways.insert(ways.end(), {{2, 2, d}, {d, d, d, 2}});
    }
    return ways;
}

class Execution : public ::testing::TestWithParam<std::string> {
  protected:
    static spec::RunSpec run() { return test::tiny_run(GetParam(), ranks(), 1, 2); }
};

TEST_P(Execution, KeepsBitsWhateverIsFetchedAheadAndSentTogether) {
    const auto run = this->run();
    const auto expected = train(run);
    for (const auto& path : busy_ways()) {
        for (const auto& [prefetch, bucket] :
             {std::pair{0, 0}, {0, 1 << 30}, {1, 20000}, {3, 0}, {3, 20000}}) {
            SCOPED_TRACE(path.text() + ", prefetch " + std::to_string(prefetch) + ", bucket " +
                         std::to_string(bucket));
            auto ours = sharded(run, path);
            ours.overlap.prefetch = prefetch;
            ours.overlap.bucket_elements = bucket;
            expect_same_bits(train(ours), expected);
        }
    }
}

TEST_P(Execution, KeepsBitsUnderRecomputation) {
    const auto run = this->run();
    const auto expected = train(run);
    for (const auto& path : busy_ways()) {
        for (const auto kind : {spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
            SCOPED_TRACE(path.text());
            auto ours = sharded(run, path);
            ours.recompute.kind = kind;
            expect_same_bits(train(ours), expected);
        }
    }
}

TEST_P(Execution, KeepsBitsOfBf16AndOfEitherTying) {
    for (const bool is_tied : {true, false}) {
        auto run = this->run();
        run.precision.compute = spec::DType::bf16;
        run.model.tie_embeddings = is_tied;
        run.sharding.reduce = ReducePlan::each_microbatch;
        const auto expected = train(run);
        for (const auto& path : ways_to_shard(ranks())) {
            SCOPED_TRACE(path.text() + (is_tied ? ", tied" : ", untied"));
            expect_same_bits(train(sharded(run, path)), expected);
        }
    }
}

/// Every micro-batch is rounded into the accumulator: three of them, because another plan rounds
/// elsewhere.
TEST_P(Execution, KeepsBitsOfGradientsAccumulatedInBf16) {
    for (const auto plan : {ReducePlan::at_end, ReducePlan::each_microbatch, ReducePlan::by_span}) {
        auto run = test::tiny_run(GetParam(), ranks(), 1, 3);
        run.precision.compute = spec::DType::bf16;
        run.sharding.reduce = plan;
        const auto in_full = train(run);
        run.precision.gradient = spec::DType::bf16;
        std::map<int, TinyOutcome> expected;
        expected.emplace(1, train(run));
        EXPECT_NE(expected.at(1).norms, in_full.norms) << "nothing was rounded";
        EXPECT_NEAR(expected.at(1).norms.front() / in_full.norms.front(), 1, 1e-2);
        for (const auto& path : ways_to_shard(ranks())) {
            SCOPED_TRACE(path.text() + ", sum plan " + std::to_string(static_cast<int>(plan)));
            const auto ours = train(sharded(run, path));
            const int key = plan == ReducePlan::by_span ? path.gradients : 1;
            expect_same_bits(ours, expected.try_emplace(key, ours).first->second);
        }
    }
}

/// With one micro-batch summed in fp32, the accumulator is the rounded sum.
TEST_P(Execution, RoundsTheSumOfEachMicrobatchOnce) {
    auto run = test::tiny_run(GetParam(), ranks(), 2, 1);
    run.train.steps = 1;
    run.sharding.reduce = ReducePlan::each_microbatch;
    const auto in_full = test::train_tiny(run, test::world(), test::Keep::tensors).gradients;
    run.precision.gradient = spec::DType::bf16;
    for (const auto& path : {Spans{}, Spans{ranks(), ranks(), ranks()}}) {
        SCOPED_TRACE(path.text());
        const auto narrow =
            test::train_tiny(sharded(run, path), test::world(), test::Keep::tensors).gradients;
        for (const auto& [name, values] : in_full) {
            auto rounded = values;
            std::ranges::transform(values, rounded.begin(),
                                   [](float value) { return float(tensor::bfloat16(value)); });
            EXPECT_TRUE(same_bits(narrow.at(name), rounded)) << name;
        }
    }
}

TEST_P(Execution, KeepsBitsWithSumsInGroups) {
    for (int group = 1; group < ranks(); ++group) {
        if (ranks() % group != 0) {
            continue;
        }
        auto run = this->run();
        run.sharding.sum_group = group;
        run.sharding.reduce = ReducePlan::each_microbatch;
        const auto expected = train(run);
        for (const auto& path : busy_ways()) {
            SCOPED_TRACE(path.text() + ", sum group " + std::to_string(group));
            expect_same_bits(train(sharded(run, path)), expected);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Families, Execution, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return made.param == "gpt2" ? "Gpt2" : "Llama";
});

}  // namespace
}  // namespace ziggurat::train
