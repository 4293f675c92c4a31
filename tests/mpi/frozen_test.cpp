/// Trainings with frozen tensors: frozen values, results equal to those without, and independence of
/// sharding.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "spec/tensor_pattern.hpp"
#include "spec/weight_versions.hpp"
#include "tests/support/class_b.hpp"
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

/// A row of parallel.pipeline.schedule.
struct Row {
    const char* name;
    spec::PipelineSchedule schedule;
    int chunks = 1;
};

constexpr std::array rows{
    Row{"gpipe", spec::PipelineSchedule::gpipe},
    Row{"1f1b", spec::PipelineSchedule::one_f_one_b},
    Row{"interleaved", spec::PipelineSchedule::interleaved, 2},
    Row{"zero_bubble", spec::PipelineSchedule::zero_bubble},
    Row{"zero_bubble_v", spec::PipelineSchedule::zero_bubble, 2},
    Row{"zero_bubble_v_half", spec::PipelineSchedule::zero_bubble_half, 2},
    Row{"pipedream", spec::PipelineSchedule::pipedream},
};

/// Part of a model that is trained alone.
struct Part {
    std::vector<std::string> only;
    bool is_of_last_stage = false;  ///< which has no older weights in a pipeline without a flush
    bool is_tied = false;
};

/// Returns parts such that the first stages, the last ones or all but one train no tensor.
std::vector<Part> parts_of(std::int64_t layers) {
    const auto layer = [](std::int64_t number) { return "layers." + std::to_string(number); };
    return {{{"head.weight"}, true},
            {{"final_norm.gain"}, true, true},
            {{layer(layers - 1) + ".*"}, true},
            {{"embedding.token"}},
            {{"embedding.token"}, false, true},
            {{layer(layers / 2) + ".mlp.down.weight"}},
            {{layer(0) + ".attention.*", layer(layers - 1) + ".*norm.gain"}}};
}

/// Settings that leave the results of a training alone.
struct Setting {
    const char* name;
    std::function<void(spec::RunSpec&)> apply;
};

std::vector<Setting> settings() {
    return {{"none", [](spec::RunSpec&) {}},
            {"ZeRO 2, selective",
             [](spec::RunSpec& run) {
                 run.sharding.gradients = run.sharding.optimizer = run.parallel.data;
                 run.recompute.kind = spec::RecomputeKind::selective;
             }},
            {"ZeRO 3, full",
             [](spec::RunSpec& run) {
                 run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer =
                     run.parallel.data;
                 run.recompute.kind = spec::RecomputeKind::full;
             }},
            {"host",
             [](spec::RunSpec& run) {
                 run.tiers.parameters = run.tiers.gradients = run.tiers.optimizer =
                     run.tiers.activations = {0, 1, 0};
                 run.tiers.chunk_elements = 4096;
                 run.overlap.prefetch = 1;
             }},
            {"updates in backward", [](spec::RunSpec& run) {
                 run.overlap.optimizer_with_backward = !spec::has_no_flush(run.parallel);  // refused there
             }}};
}

/// Returns a pipeline over all ranks, or with four of them one of two stages on two data ranks.
spec::RunSpec pipeline(const Row& row, const Part& part, std::int64_t layers) {
    const int data = ranks() == 4 ? 2 : 1;
    auto run = test::tiny_run("llama", data, 1, 3);
    run.model.layers = layers;
    run.model.tie_embeddings = part.is_tied;
    run.parallel.stages = ranks() / data;
    run.parallel.ranks = run.parallel.ranks_per_node = ranks();
    run.parallel.pipeline_schedule = row.schedule;
    run.parallel.chunks_per_stage = row.chunks;
    run.optimizer.clip = spec::ClipPolicy::off;
    run.train.only = part.only;
    run.train.steps = 4;
    return run;
}

TEST(FrozenPipelines, TrainAsOneRankDoes) {
    if (ranks() == 1) {
        GTEST_SKIP() << "a pipeline has several ranks";
    }
    const comm::Communicator myself = test::world().group().split(test::world().rank());
    const std::int64_t layers = ranks() == 4 ? 5 : 7;
    const auto parts = parts_of(layers);
    const auto all = settings();
    for (std::size_t p = 0; p < parts.size(); ++p) {
        const auto& part = parts[p];
        auto alone = test::tiny_run("llama", 1, 1, 1);
        alone.model.layers = layers;
        alone.model.tie_embeddings = part.is_tied;
        alone.optimizer.clip = spec::ClipPolicy::off;
        alone.train.only = part.only;
        alone.train.steps = 4;
        alone.train.global_batch = alone.train.micro_batch = ranks() == 4 ? 6 : 3;
        const auto expected = test::train_tiny(alone, test::world().in(myself), Keep::tensors);
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const bool is_without_flush = rows[r].schedule == spec::PipelineSchedule::pipedream;
            // Each stage before the last one has older weights, which one rank does not have.
            if (is_without_flush && (!part.is_of_last_stage || part.is_tied || ranks() == 4)) {
                continue;
            }
            const auto& setting = all[(p + r) % all.size()];
            SCOPED_TRACE(std::string{rows[r].name} + ", " + part.only.front() + ": " + setting.name);
            auto ours = pipeline(rows[r], part, layers);
            setting.apply(ours);

            test::expect_class_b(test::train_tiny(ours, test::world(), Keep::tensors), expected);
        }
    }
}

TEST(FrozenPipelines, WithoutAFlushHaveTheSameBitsWithEverySetting) {
    if (ranks() == 1) {
        GTEST_SKIP() << "a pipeline has several ranks";
    }
    const std::int64_t layers = ranks() == 4 ? 5 : 7;
    const auto all = settings();
    for (const auto& part : parts_of(layers)) {
        if (part.is_tied) {
            continue;
        }
        const auto run = pipeline(rows.back(), part, layers);
        const auto expected = train(run, Keep::nothing);
        // The first setting changes nothing, and the last one needs a flush.
        for (const auto& setting : std::span{all}.subspan(1, all.size() - 2)) {
            SCOPED_TRACE(part.only.front() + ": " + setting.name);
            auto ours = run;
            setting.apply(ours);

            const auto found = train(ours, Keep::nothing);

            EXPECT_EQ(found.losses, expected.losses);
            EXPECT_EQ(found.norms, expected.norms);
            EXPECT_EQ(found.weights_hash, expected.weights_hash);
        }
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
