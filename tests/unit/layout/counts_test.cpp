#include "layout/counts.hpp"

#include <gtest/gtest.h>

#include "layout/families/family_descriptor.hpp"

namespace ziggurat::layout {
namespace {

spec::Model preset(const char* name) {
    auto model = *find_preset(name);
    model.head_dim = model.head_dim > 0 ? model.head_dim : model.hidden / model.heads;
    return model;
}

spec::RunSpec preset_run(const char* name, std::int64_t seq) {
    spec::RunSpec run;
    run.model = preset(name);
    run.data.seq = seq;
    return run;
}

TEST(CountParameters, GivesThePublishedSizes) {
    EXPECT_EQ(count_parameters(preset("gpt2-124m")).total, 124'439'808);
    EXPECT_EQ(count_parameters(preset("gpt2-350m")).total, 354'823'168);
    EXPECT_EQ(count_parameters(preset("gpt2-774m")).total, 774'030'080);
    EXPECT_EQ(count_parameters(preset("gpt2-1558m")).total, 1'557'611'200);
    EXPECT_EQ(count_parameters(preset("llama-1b")).total, 1'235'814'400);
    EXPECT_EQ(count_parameters(preset("llama-8b")).total, 8'030'261'248);
    EXPECT_EQ(count_parameters(preset("llama-70b")).total, 70'553'706'496);
    EXPECT_EQ(count_parameters(preset("mistral-7b")).total, 7'248'023'552);
    EXPECT_EQ(count_parameters(preset("qwen2.5-0.5b")).total, 494'032'768);
    EXPECT_EQ(count_parameters(preset("qwen2.5-7b")).total, 7'615'616'512);
    EXPECT_EQ(count_parameters(preset("phi-4")).total, 14'659'507'200);
    EXPECT_EQ(count_parameters(preset("smollm3-3b")).total, 3'075'098'624);
    EXPECT_EQ(count_parameters(preset("gemma-2b")).total, 2'506'172'416);
    EXPECT_EQ(count_parameters(preset("qwen3-0.6b")).total, 596'049'920);
    EXPECT_EQ(count_parameters(preset("qwen3-8b")).total, 8'190'735'360);
    EXPECT_EQ(count_parameters(preset("granite-3.3-2b")).total, 2'533'539'840);
    EXPECT_EQ(count_parameters(preset("granite-3.3-8b")).total, 8'170'864'640);
    EXPECT_EQ(count_parameters(preset("gemma-3-270m")).total, 268'098'176);
    EXPECT_EQ(count_parameters(preset("gemma-2-2b")).total, 2'614'341'888);
    EXPECT_EQ(count_parameters(preset("gemma-2-9b")).total, 9'241'705'984);
    EXPECT_EQ(count_parameters(preset("gemma-3-1b")).total, 999'885'952);
    EXPECT_EQ(count_parameters(preset("olmo-2-1b")).total, 1'484'916'736);
    EXPECT_EQ(count_parameters(preset("olmo-2-7b")).total, 7'298'617'344);
    EXPECT_EQ(count_parameters(preset("olmo-2-13b")).total, 13'716'198'400);
    EXPECT_EQ(count_parameters(preset("olmo-2-32b")).total, 32'234'279'936);
}

/// Counts without embedding and head, as in Biderman et al., "Pythia", 2023, table 1.
TEST(CountParameters, GivesThePublishedSizesWithoutEmbeddings) {
    const auto without_embeddings = [](const char* name) {
        const auto model = preset(name);
        return count_parameters(model).total - 2 * model.vocab * model.hidden;
    };
    EXPECT_EQ(without_embeddings("pythia-70m"), 18'915'328);
    EXPECT_EQ(without_embeddings("pythia-160m"), 85'056'000);
    EXPECT_EQ(without_embeddings("pythia-410m"), 302'311'424);
    EXPECT_EQ(without_embeddings("pythia-1b"), 805'736'448);
    EXPECT_EQ(without_embeddings("pythia-1.4b"), 1'208'602'624);
    EXPECT_EQ(without_embeddings("pythia-2.8b"), 2'517'652'480);
    EXPECT_EQ(without_embeddings("pythia-6.9b"), 6'444'163'072);
    EXPECT_EQ(without_embeddings("pythia-12b"), 11'327'027'200);
}

TEST(CountParameters, IsTheSumOfItsParts) {
    const ParameterCount count = count_parameters(preset("llama-8b"));

    EXPECT_EQ(count.layers, 32 * count.layer);
    EXPECT_EQ(count.total, count.embedding + count.layers + count.head);
}

TEST(FlopsPerToken, CountsEachProductOnceForwardAndTwiceBackward) {
    const auto run = preset_run("llama-8b", 8192);
    const auto& model = run.model;
    const auto products = static_cast<double>(count_parameters(model).total - model.vocab * model.hidden);

    EXPECT_DOUBLE_EQ(flops_per_token(run), 6 * products + 6.0 * 32 * 4096 * 8192);
}

TEST(FlopsPerToken, CountsATiedTableOnceAsTheHead) {
    const auto run = preset_run("gpt2-124m", 1024);
    const auto products = static_cast<double>(count_parameters(run.model).total - 1024 * 768);

    EXPECT_DOUBLE_EQ(flops_per_token(run), 6 * products + 6.0 * 12 * 768 * 1024);
}

TEST(FlopsPerToken, LeavesOutWhatFrozenTensorsSave) {
    auto run = preset_run("gpt2-124m", 1024);
    const auto layer = count_parameters(run.model).layer;
    const auto table = 50257 * 768;
    const auto norm = 2 * 768;
    run.train.only = {"layers.11.*"};
    const std::int64_t forward = 12 * layer + norm + table;
    const std::int64_t through = layer + norm + table;
    const std::int64_t attention = 768 * 1024;

    EXPECT_DOUBLE_EQ(flops_per_token(run),
                     static_cast<double>(2 * (forward + through + layer) + (12 * 2 + 4) * attention));
}

TEST(CountStateBytes, AddsUpTheTypesOfAllKinds) {
    spec::RunSpec run;
    run.model = preset("gpt2-124m");

    EXPECT_EQ(count_state_bytes(run).total(), 124'439'808LL * (4 + 4 + 8));  // no separate master weights

    run.precision.compute = spec::DType::bf16;
    EXPECT_EQ(count_state_bytes(run).total(), 124'439'808LL * (2 + 4 + 12));

    run.precision.gradient = spec::DType::bf16;
    EXPECT_EQ(count_state_bytes(run).total(), 124'439'808LL * (2 + 2 + 12));

    run.tiers.reuse = true;  // gradients take the memory of parameters
    EXPECT_EQ(count_state_bytes(run).total(), 124'439'808LL * (2 + 12));
}

TEST(CountStateBytes, SharesEachKindOverItsShardDegree) {
    spec::RunSpec run;
    run.model = preset("llama-8b");
    run.sharding = {.parameters = 1, .gradients = 2, .optimizer = 4};

    const StateBytes state = count_state_bytes(run);

    EXPECT_EQ(state.parameters, 4 * 8'030'261'248);
    EXPECT_EQ(state.gradients, 2 * 8'030'261'248);
    EXPECT_EQ(state.optimizer, 2 * 8'030'261'248);
}

TEST(CountStateBytes, GivesFrozenTensorsParametersOnly) {
    spec::RunSpec run;
    run.model = preset("gpt2-124m");
    run.train.only = {"layers.*.attn_norm.bias", "embedding.token"};
    const std::int64_t trained = 12 * 768 + 50257 * 768;

    EXPECT_EQ(count_trained(run), trained);
    EXPECT_EQ(count_state_bytes(run).parameters, 4 * 124'439'808LL);
    EXPECT_EQ(count_state_bytes(run).gradients, 4 * trained);
    EXPECT_EQ(count_state_bytes(run).optimizer, 8 * trained);
}

TEST(CountTrained, CountsEverythingByDefault) {
    for (const auto* name : {"gpt2-124m", "llama-8b", "pythia-70m"}) {
        spec::RunSpec run;
        run.model = preset(name);
        EXPECT_EQ(count_trained(run), count_parameters(run.model).total);
    }
}

}  // namespace
}  // namespace ziggurat::layout
