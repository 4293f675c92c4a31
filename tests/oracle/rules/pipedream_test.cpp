/// Pipelines without a flush against PyTorch, also over a drain; see tests/oracle/README.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "optim/adamw_inputs.hpp"
#include "spec/weight_versions.hpp"
#include "tests/oracle/oracle_run.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/norm_gap.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tensor_file.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {
namespace {

using schedule::StateKind;

/// A model with the oracle's initial weights and batch, on one rank for each stage.
class PipedreamRun {
  public:
    PipedreamRun(std::int64_t micro_batches, spec::DType compute)
        : oracle{test::path_of("rules/pipedream_tiny.safetensors")},
          config(nlohmann::json::parse(std::ifstream{test::path_of("rules/pipedream_tiny.json")})),
          bounds(config.at("bounds").at(compute == spec::DType::f32 ? "f32" : "bf16")),
          results{std::to_string(micro_batches) + "/"},
          spec{spec_of_run(micro_batches, compute)},
          assembly{spec, test::world(), test::processors_for_tests(spec.parallel.threads)} {
        for (const auto& [name, tensor] : oracle.under("initial/")) {
            assembly.set_tensor(name, tensor.values);
        }
        const auto& mask = oracle.at("batch/loss_mask").integers;
        targets = std::count(mask.begin(), mask.end(), 1);
    }

    /// Trains steps [first, end) from an empty pipeline to an empty one.
    void train(std::int64_t first, std::int64_t end) {
        assembly.train_executor().finish();
        assembly.fill_pipeline(first);
        assembly.drain_pipeline(end);
        auto known = first;
        for (auto step = first - assembly.runs_to_fill(); step < end; ++step) {
            const auto slots = assembly.train_slots();
            for (std::int64_t i = 0; i < std::ssize(slots); ++i) {
                test::fill(slots[i], oracle, i % spec.train.micro_batches * spec.train.micro_batch,
                           spec.data.seq);
            }
            assembly.step_inputs() =
                optim::make_step_inputs(spec.optimizer, spec.train.average, spec.optimizer.lr,
                                        std::max(step, first), std::max(step, first) + 1, targets);
            assembly.train_executor().run_step();
            while (step - known >= spec::steps_to_outcome(spec)) {
                expect_outcome(known++);
            }
        }
        while (known < end) {
            expect_outcome(known++);
        }
        assembly.train_executor().finish();
    }

    double weights_gap() {
        test::SquaredGap all;
        for (const auto& [name, tensor] : oracle.under(results + "final/")) {
            all += test::squared_gap(assembly.tensor(StateKind::parameters, name), tensor.values);
        }
        return all.relative();
    }

    test::TensorFile oracle;
    nlohmann::json config, bounds;
    std::string results;
    spec::RunSpec spec;
    Assembly assembly;
    std::int64_t targets = 0;

  private:
    spec::RunSpec spec_of_run(std::int64_t micro_batches, spec::DType compute) const {
        const auto& pipedream = config.at("pipedream");
        const int stages = pipedream.at("stages");
        auto run = test::spec_of(config, {"pipedream_tiny", compute, 1, spec::RecomputeKind::none}, 1,
                                 pipedream.at("steps"));
        run.train.micro_batches = micro_batches;
        run.train.micro_batch = run.train.global_batch / micro_batches;
        run.parallel.ranks = run.parallel.ranks_per_node = run.parallel.stages = stages;
        run.parallel.stage_layers.assign(static_cast<std::size_t>(stages), run.model.layers / stages);
        run.parallel.pipeline_schedule = spec::PipelineSchedule::pipedream;
        run.optimizer.clip = spec::ClipPolicy::off;
        return run;
    }

    void expect_outcome(std::int64_t step) {
        assembly.wait_for_outcome();
        const auto i = static_cast<std::size_t>(step);
        const auto loss = assembly.outcome().loss_sum / static_cast<double>(targets);
        const double expected_loss = oracle.at(results + "losses").values[i];
        const double expected_norm = oracle.at(results + "gradient_norms").values[i];
        EXPECT_NEAR(loss / expected_loss, 1, bounds.at("losses")) << "step " << step + 1;
        EXPECT_NEAR(assembly.outcome().grad_norm / expected_norm, 1, bounds.at("gradients"))
            << "step " << step + 1;
    }
};

class Pipedream : public ::testing::TestWithParam<spec::DType> {};

TEST_P(Pipedream, HasTheLossesAndWeightsOfPyTorch) {
    for (const std::int64_t micro_batches : {1, 3}) {
        PipedreamRun run{micro_batches, GetParam()};
        std::int64_t first = 0;
        for (const std::int64_t drain : run.config.at("pipedream").at("drains")) {
            run.train(first, drain);
            first = drain;
        }
        run.train(first, run.spec.train.steps);

        EXPECT_LE(run.weights_gap(), run.bounds.at("weights")) << micro_batches << " micro-batches";
    }
}

INSTANTIATE_TEST_SUITE_P(Types,
                         Pipedream,
                         ::testing::Values(spec::DType::f32, spec::DType::bf16),
                         [](const auto& made) { return made.param == spec::DType::f32 ? "f32" : "bf16"; });

}  // namespace
}  // namespace ziggurat::train
