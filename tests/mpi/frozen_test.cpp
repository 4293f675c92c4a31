/// Trainings with frozen tensors: frozen values, results equal to those without, and independence of
/// sharding.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "spec/tensor_pattern.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using test::Keep;
using test::TinyOutcome;

int ranks() {
    return test::world().size();
}

TinyOutcome train(const spec::RunSpec& run, Keep keep) {
    return test::train_tiny(run, test::world(), keep);
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return std::ranges::equal(a, b, [](float x, float y) {
        return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
    });
}

struct Training {
    std::string family;
    std::vector<std::string> only;
    spec::DType compute = spec::DType::f32;
};

class Frozen : public ::testing::TestWithParam<Training> {
  protected:
    static spec::RunSpec run() {
        auto run = test::tiny_run(GetParam().family, ranks(), 2, 2);
        run.precision.compute = GetParam().compute;
        run.train.only = GetParam().only;
        return run;
    }
};

TEST_P(Frozen, TensorsKeepTheirBitsAndTheOthersDoNot) {
    auto still = run();
    still.train.only.clear();
    still.train.steps = 1;
    still.optimizer.lr = 0;
    const auto before = train(still, Keep::tensors).weights;

    const auto after = train(run(), Keep::tensors).weights;

    for (const auto& [name, values] : after) {
        EXPECT_EQ(same_bits(values, before.at(name)), !spec::is_trained(run().train, name)) << name;
    }
}

TEST_P(Frozen, TensorsLeaveTheFirstGradientsOfTheOthersAlone) {
    auto whole = run();
    whole.train.only.clear();
    whole.train.steps = 1;
    const auto expected = train(whole, Keep::tensors).gradients;
    const auto ours = train(run(), Keep::tensors);

    double squares = 0;
    for (const auto& [name, gradient] : ours.gradients) {
        EXPECT_TRUE(same_bits(gradient, expected.at(name))) << name;
        for (const double value : gradient) {
            squares += value * value;
        }
    }
    EXPECT_LT(ours.gradients.size(), expected.size());
    EXPECT_NEAR(ours.norms.front() / std::sqrt(squares), 1, 1e-6) << "the norm is that of what is trained";
}

TEST_P(Frozen, TensorsAndShardingGoTogether) {
    const auto expected = train(run(), Keep::nothing);
    const int d = ranks();
    std::vector<spec::Sharding> ways = {{1, 1, d}, {1, d, d}, {d, d, d}};
    if (d == 4) {
        ways.push_back({2, 2, 4});
        ways.push_back({4, 4, 4, 2});
    }
    for (auto path : ways) {
        auto ours = run();
        path.sum_group = d;
        ours.sharding = path;
        ours.overlap.bucket_elements = path.parameters > 1 ? 20000 : 0;
        const auto found = train(ours, Keep::nothing);
        SCOPED_TRACE("spans " + std::to_string(path.parameters) + " " + std::to_string(path.gradients) + " " +
                     std::to_string(path.optimizer));
        EXPECT_EQ(found.losses, expected.losses);
        EXPECT_EQ(found.norms, expected.norms);
        EXPECT_EQ(found.weights_hash, expected.weights_hash);
        EXPECT_TRUE(same_bits(found.evaluated, expected.evaluated));
    }
}

TEST_P(Frozen, TensorsAndRecomputationGoTogether) {
    const auto expected = train(run(), Keep::nothing);
    for (const auto kind : {spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
        auto ours = run();
        ours.recompute.kind = kind;
        ours.sharding.parameters = ours.sharding.gradients = ours.sharding.optimizer = ranks();
        const auto found = train(ours, Keep::nothing);
        EXPECT_EQ(found.losses, expected.losses);
        EXPECT_EQ(found.weights_hash, expected.weights_hash);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Trainings,
    Frozen,
    ::testing::Values(Training{"gpt2", {"*.mlp.*"}},
                      Training{"gpt2", {"*.bias", "final_norm.gain"}, spec::DType::bf16},
                      Training{"gpt2", {"embedding.position", "*norm.gain", "*.out.weight"}},
                      Training{"gpt2", {"embedding.token"}},
                      Training{"qwen3", {"*_norm.gain", "*.up.weight", "*.gate.weight"}},
                      Training{"olmo2", {"layers.0.attention.*norm.gain", "*.mlp.*"}},
                      Training{"olmo2", {"layers.1.attention.*", "*_post_norm.gain"}},
                      Training{"gpt2", {"layers.1.mlp.down.bias"}},
                      Training{"llama", {"layers.1.*", "final_norm.*"}},
                      Training{"llama", {"head.*"}, spec::DType::bf16},
                      Training{"llama", {"*.attention.*"}},
                      Training{"gpt_neox", {"layers.0.mlp_norm.*", "layers.1.attention.*"}}));

}  // namespace
}  // namespace ziggurat::train
