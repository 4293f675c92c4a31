/// Whole models and ten AdamW steps against PyTorch; tests/oracle/README.md defines bounds and files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "optim/adamw_inputs.hpp"
#include "optim/learning_rate.hpp"
#include "tests/oracle/oracle_run.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/norm_gap.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tensor_file.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {
namespace {

using test::StoredTensor;
using test::TensorFile;

using Case = test::OracleCase;
using test::fill;
using test::path_of;
using test::spec_of;
using test::title;

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
