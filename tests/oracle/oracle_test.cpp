/// Whole models and ten AdamW steps against PyTorch; tests/oracle/README.md defines bounds and files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "optim/adamw_inputs.hpp"
#include "optim/learning_rate.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/norm_gap.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tensor_file.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {
namespace {

using test::StoredTensor;
using test::TensorFile;

struct Case {
    const char* name;
    spec::DType compute;
    std::int64_t micro_batch;  ///< sequences; at most those of one rank
    spec::RecomputeKind recompute;
};

std::string title(const Case& c) {
    return std::string{c.name} + (c.compute == spec::DType::f32 ? "_f32" : "_bf16") + "_micro" +
           std::to_string(c.micro_batch) + (c.recompute == spec::RecomputeKind::none ? "" : "_recompute");
}

void PrintTo(const Case& c, std::ostream* out) {
    *out << title(c);
}

std::string path_of(const std::string& file) {
    const char* root = std::getenv("PROJECT_SOURCE_DIR");
    return std::string{root == nullptr ? "." : root} + "/tests/oracle/" + file;
}

spec::RunSpec spec_of(const nlohmann::json& config, const Case& c, int ranks, std::int64_t steps) {
    spec::RunSpec run;
    const auto& model = config.at("model");
    run.model.family = model.at("family");
    run.model.layers = model.at("layers");
    run.model.hidden = model.at("hidden");
    run.model.heads = model.at("heads");
    run.model.kv_heads = model.at("kv_heads");
    run.model.head_dim = model.value("head_dim", run.model.hidden / run.model.heads);
    run.model.ffn_hidden = model.at("ffn_hidden");
    run.model.vocab = model.at("vocab");
    run.model.vocab_padded = 128;
    run.model.max_seq = model.at("max_seq");
    run.model.tie_embeddings = model.at("tie_embeddings");
    run.model.norm_epsilon = model.at("norm_epsilon");
    run.model.rope_theta = model.value("rope_theta", 10000.0);
    run.model.rotary_fraction = model.value("rotary_fraction", 1.0);
    run.model.no_rope_interval = model.value("no_rope_interval", std::int64_t{0});
    run.model.window = model.value("window", std::int64_t{0});
    run.model.full_attention_interval = model.value("full_attention_interval", std::int64_t{0});
    run.model.window_rope_theta = model.value("window_rope_theta", 0.0);
    run.model.attention_scale = model.value("attention_scale", 0.0);
    if (const auto factors = model.find("multiplier"); factors != model.end()) {
        run.model.multiplier = {factors->at("embedding"), factors->at("residual"), factors->at("logits")};
    }
    if (const auto caps = model.find("softcap"); caps != model.end()) {
        run.model.softcap = {caps->at("attention"), caps->at("logits")};
    }
    if (const auto bias = model.find("bias"); bias != model.end()) {
        run.model.bias = {bias->at("qkv"), bias->at("output"), bias->at("mlp")};
    }
    run.data.seq = config.at("data").at("seq");
    run.data.reset_at_document = true;
    run.train.steps = steps;
    run.train.global_batch = 3;
    run.train.micro_batch = std::min<std::int64_t>(c.micro_batch, run.train.global_batch / ranks);
    run.train.micro_batches = run.train.global_batch / run.train.micro_batch / ranks;
    run.parallel.ranks = run.parallel.ranks_per_node = run.parallel.data = run.sharding.sum_group = ranks;
    run.parallel.threads = 1;
    run.recompute.kind = c.recompute;
    run.precision.compute = c.compute;
    const auto& optimizer = config.at("optimizer");
    run.optimizer.lr = optimizer.at("lr");
    run.optimizer.beta1 = optimizer.at("betas").at(0);
    run.optimizer.beta2 = optimizer.at("betas").at(1);
    run.optimizer.epsilon = optimizer.at("eps");
    run.optimizer.weight_decay = optimizer.at("weight_decay");
    run.optimizer.clip_norm = optimizer.at("clip_norm");
    run.schedule.kind = spec::ScheduleKind::constant;
    run.tiers.device = test::device_kind_for_tests();
    return run;
}

/// Fills `slot` with consecutive rows of the oracle's batch, from `first_sample` on.
void fill(const BatchSlot& slot, const TensorFile& oracle, std::int64_t first_sample, std::int64_t seq) {
    const auto copy = [&](const char* name, auto into) {
        const auto& rows = oracle.at(std::string{"batch/"} + name).integers;
        using Element = typename decltype(into)::element_type;
        std::transform(rows.begin() + first_sample * seq,
                       rows.begin() + first_sample * seq + std::ssize(into), into.begin(),
                       [](std::int32_t value) { return static_cast<Element>(value); });
    };
    copy("tokens", slot.tokens);
    copy("targets", slot.targets);
    copy("positions", slot.positions);
    copy("document_starts", slot.document_starts);
    copy("loss_mask", slot.mask);
    for (std::size_t i = 0; i < slot.samples.size(); ++i) {
        slot.samples[i] = first_sample + std::int64_t(i);
    }
}

/// A model with the oracle's initial weights and batch, on all ranks of the test.
struct Trained {
    explicit Trained(const Case& c)
        : oracle{path_of(std::string{c.name} + ".safetensors")},
          config(nlohmann::json::parse(std::ifstream{path_of(std::string{c.name} + ".json")})),
          bounds(config.at("bounds").at(c.compute == spec::DType::f32 ? "f32" : "bf16")),
          spec{spec_of(config, c, test::world().size(), oracle.at("losses").size())},
          assembly{spec, test::world(), test::processors_for_tests(spec.parallel.threads)} {
        for (const auto& [name, tensor] : oracle.under("initial/")) {
            assembly.set_tensor(name, tensor.values);
        }
        const auto& mask = oracle.at("batch/loss_mask").integers;
        targets = std::count(mask.begin(), mask.end(), 1);
        const auto slots = assembly.train_slots();
        for (std::size_t m = 0; m < slots.size(); ++m) {
            const auto first = test::world().rank() * std::int64_t(slots.size()) + std::int64_t(m);
            fill(slots[m], oracle, first * spec.train.micro_batch, spec.data.seq);
        }
    }

    /// Returns the mean loss before the update.
    double step(std::int64_t index) {
        assembly.step_inputs() = optim::make_step_inputs(
            spec.optimizer, spec.train.average,
            optim::learning_rate(spec.schedule, spec.optimizer.lr, spec.train.steps, index), index, index + 1,
            targets);
        assembly.train_executor().run_step();
        return assembly.outcome().loss_sum / double(targets);
    }

    std::vector<float> all_logits() {
        std::vector<float> logits;
        const auto& slot = assembly.evaluate_slot();
        for (std::int64_t sample = 0; sample < spec.train.global_batch; sample += std::ssize(slot.samples)) {
            fill(slot, oracle, sample, spec.data.seq);
            for (std::int64_t row = 0; row < std::ssize(slot.tokens); ++row) {
                assembly.watch_logits(row);
                assembly.evaluator().run_step();
                const auto watched = assembly.watched_logits();
                logits.insert(logits.end(), watched.begin(), watched.end());
            }
        }
        return logits;
    }

    TensorFile oracle;
    nlohmann::json config, bounds;
    spec::RunSpec spec;
    Assembly assembly;
    std::int64_t targets = 0;
};

class Oracle : public ::testing::TestWithParam<Case> {};

TEST_P(Oracle, HasTheLogits) {
    Trained model{GetParam()};
    EXPECT_LE(test::norm_gap(model.all_logits(), model.oracle.at("logits").values),
              model.bounds.at("logits"));
}

TEST_P(Oracle, HasLossNormAndEveryGradient) {
    Trained model{GetParam()};
    const double loss = double(model.oracle.at("loss").values.at(0));
    EXPECT_NEAR(model.step(0) / loss, 1, model.bounds.at("loss"));

    std::map<std::string, std::vector<float>> gradients;
    const auto expected = model.oracle.under("gradient/");
    for (const auto& [name, tensor] : expected) {
        gradients[name] = model.assembly.tensor(schedule::StateKind::gradients, name);
    }
    const double bound = model.bounds.at("gradients");
    for (const auto& [name, gap] : test::gradient_gaps(gradients, expected)) {
        if (GetParam().compute == spec::DType::f32 || !test::is_key_bias(name)) {
            EXPECT_LE(gap, bound) << name;
        }
    }
    const double norm = double(model.oracle.at("gradient_norms").values.at(0));
    EXPECT_NEAR(model.assembly.outcome().grad_norm / norm, 1, bound);
}

TEST_P(Oracle, WalksTenStepsOfAdamW) {
    Trained model{GetParam()};
    const auto& losses = model.oracle.at("losses").values;
    for (std::size_t i = 0; i < losses.size(); ++i) {
        const double loss = model.step(std::int64_t(i));
        EXPECT_NEAR(loss / double(losses[i]), 1, model.bounds.at("losses")) << "step " << i;
    }
    model.assembly.train_executor().finish();
    const auto kind = GetParam().compute == spec::DType::f32 ? schedule::StateKind::parameters
                                                             : schedule::StateKind::master;
    test::SquaredGap all;
    for (const auto& [name, tensor] : model.oracle.under("final/")) {
        if (!test::is_key_bias(name)) {
            all += test::squared_gap(model.assembly.tensor(kind, name), tensor.values);
        }
    }
    EXPECT_LE(all.relative(), model.bounds.at("weights"));
}

constexpr auto f32 = spec::DType::f32, bf16 = spec::DType::bf16;
constexpr auto none = spec::RecomputeKind::none, selective = spec::RecomputeKind::selective,
               full = spec::RecomputeKind::full;

INSTANTIATE_TEST_SUITE_P(Files,
                         Oracle,
                         ::testing::Values(Case{"gpt2_tiny", f32, 3, none},
                                           Case{"gpt2_tiny", f32, 1, full},
                                           Case{"gpt2_tiny", bf16, 3, none},
                                           Case{"llama_tiny", f32, 3, none},
                                           Case{"llama_tiny", f32, 1, full},
                                           Case{"llama_tiny", bf16, 3, none},
                                           Case{"gpt_neox_tiny", f32, 3, none},
                                           Case{"gpt_neox_tiny", f32, 1, full},
                                           Case{"gpt_neox_tiny", bf16, 3, none},
                                           Case{"llama_biased_tiny", f32, 3, none},
                                           Case{"llama_biased_tiny", bf16, 1, full},
                                           Case{"mistral_window_tiny", f32, 3, none},
                                           Case{"mistral_window_tiny", f32, 1, full},
                                           Case{"mistral_window_tiny", bf16, 3, none},
                                           Case{"qwen2_tiny", f32, 3, none},
                                           Case{"qwen2_tiny", bf16, 3, none},
                                           Case{"qwen3_tiny", f32, 3, none},
                                           Case{"qwen3_tiny", f32, 1, selective},
                                           Case{"qwen3_tiny", bf16, 3, full},
                                           Case{"gemma_tiny", f32, 3, none},
                                           Case{"gemma_tiny", bf16, 1, full},
                                           Case{"smollm3_tiny", f32, 1, full},
                                           Case{"smollm3_tiny", bf16, 3, none},
                                           Case{"granite_tiny", f32, 3, none},
                                           Case{"granite_tiny", f32, 1, full},
                                           Case{"granite_tiny", bf16, 3, none},
                                           Case{"gemma2_tiny", f32, 3, none},
                                           Case{"gemma2_tiny", f32, 1, selective},
                                           Case{"gemma2_tiny", bf16, 1, full},
                                           Case{"gemma3_tiny", f32, 3, none},
                                           Case{"gemma3_tiny", f32, 3, selective},
                                           Case{"gemma3_tiny", bf16, 1, full},
                                           Case{"olmo2_tiny", f32, 3, none},
                                           Case{"olmo2_tiny", f32, 1, selective},
                                           Case{"olmo2_tiny", f32, 3, full},
                                           Case{"olmo2_tiny", bf16, 1, none},
                                           Case{"olmo2_tiny", bf16, 3, full}),
                         [](const auto& made) { return title(made.param); });

}  // namespace
}  // namespace ziggurat::train
