/// Delayed updates against PyTorch, also over a resume; tests/oracle/README.md defines the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "optim/adamw_inputs.hpp"
#include "optim/learning_rate.hpp"
#include "tests/oracle/oracle_run.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/norm_gap.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tensor_file.hpp"
#include "tests/support/tiny_checkpoints.hpp"
#include "train/console/console.hpp"
#include "train/report/reporter.hpp"
#include "train/report/run_context.hpp"
#include "train/resume/resume.hpp"
#include "train/save/checkpointer.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {
namespace {

using schedule::StateKind;

/// A model with the oracle's initial weights and batch, on all ranks of the test.
struct DelayedRun {
    DelayedRun(const comm::Context& group,
               spec::DType compute,
               void (*change)(spec::RunSpec&),
               std::string dir = "")
        : oracle{test::path_of("delayed_tiny.safetensors")},
          config(nlohmann::json::parse(std::ifstream{test::path_of("delayed_tiny.json")})),
          bounds(config.at("bounds").at(compute == spec::DType::f32 ? "f32" : "bf16")),
          spec{spec_of_run(group.size(), compute, change, std::move(dir))},
          assembly{spec, group, test::processors_for_tests(spec.parallel.threads)},
          rank{group.rank()} {
        for (const auto& [name, tensor] : oracle.under("initial/")) {
            assembly.set_tensor(name, tensor.values);
        }
        const auto& mask = oracle.at("batch/loss_mask").integers;
        targets = std::count(mask.begin(), mask.end(), 1);
    }

    spec::RunSpec spec_of_run(int ranks,
                              spec::DType compute,
                              void (*change)(spec::RunSpec&),
                              std::string dir) const {
        auto run = test::spec_of(config, {"delayed_tiny", compute, 1, spec::RecomputeKind::none}, ranks,
                                 std::int64_t(oracle.at("losses").size()));
        run.run.dir = std::move(dir);
        run.run.resume = spec::Resume::automatic;
        run.overlap.delayed_update = true;
        run.overlap.delayed_update_after = config.at("delayed_update").at("after");
        change(run);
        return run;
    }

    /// Returns the mean loss of a step, from 0.
    double step(std::int64_t index) {
        const auto slots = assembly.train_slots();
        for (std::size_t m = 0; m < slots.size(); ++m) {
            const auto first = rank * std::int64_t(slots.size()) + std::int64_t(m);
            test::fill(slots[m], oracle, first * spec.train.micro_batch, spec.data.seq);
        }
        assembly.step_inputs() = optim::make_step_inputs(
            spec.optimizer, spec.train.average,
            optim::learning_rate(spec.schedule, spec.optimizer.lr, spec.train.steps, index), index, index + 1,
            targets);
        assembly.train_executor().run_step();
        assembly.complete_update(index + 1);
        return assembly.outcome().loss_sum / double(targets);
    }

    std::int64_t steps() const { return spec.train.steps; }

    void expect_losses(std::int64_t first, std::int64_t end) {
        const auto& losses = oracle.at("losses").values;
        const auto& norms = oracle.at("gradient_norms").values;
        for (auto i = std::size_t(first); i < std::size_t(end); ++i) {
            EXPECT_NEAR(step(std::int64_t(i)) / double(losses[i]), 1, bounds.at("losses"))
                << "step " << i + 1;
            EXPECT_NEAR(assembly.outcome().grad_norm / double(norms[i]), 1, bounds.at("gradients"));
        }
    }

    /// Returns the gap of the weights with which the next step would compute.
    double weights_gap() {
        assembly.train_executor().finish();
        test::SquaredGap all;
        for (const auto& [name, tensor] : oracle.under("final/")) {
            all += test::squared_gap(assembly.tensor(StateKind::parameters, name), tensor.values);
        }
        return all.relative();
    }

    test::TensorFile oracle;
    nlohmann::json config, bounds;
    spec::RunSpec spec;
    Assembly assembly;
    int rank = 0;
    std::int64_t targets = 0;
};

/// Trains some steps and saves, or resumes from that checkpoint.
void save_or_resume(DelayedRun& run, const comm::Context& group, std::int64_t steps) {
    const RunContext context{.version = "test", .libraries = "", .command = "", .effective_deck = ""};
    Console console{Console::quiet};
    Reporter reporter{run.spec, context, group, console};
    TimeAccounting account;
    const auto resumed = resume(run.spec, "", run.assembly.world(), run.assembly.state(), reporter);
    if (resumed.is_own) {
        EXPECT_EQ(resumed.progress.step, steps);
        return;
    }
    reporter.open(std::nullopt);
    Checkpointer saves{
        run.spec, context, run.assembly.world(), run.assembly.state(), run.assembly.step_requests(), reporter,
        account,  -1};
    run.expect_losses(0, steps);
    EXPECT_TRUE(saves.finish({.step = steps, .tokens = steps * run.targets, .next_sample = steps}));
}

void on_device(spec::RunSpec&) {}

void sharded_on_host(spec::RunSpec& run) {
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = run.parallel.ranks;
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    run.tiers.optimizer = run.tiers.gradients = {0, 1, 0};
    run.tiers.chunk_elements = 1024;
}

void saved(spec::RunSpec& run) {
    sharded_on_host(run);
    run.checkpoint.every = spec::Interval{.steps = 1000};
}

class DelayedUpdates : public ::testing::TestWithParam<spec::DType> {};

TEST_P(DelayedUpdates, HaveTheLossesAndWeightsOfPyTorch) {
    for (auto* const change : {on_device, sharded_on_host}) {
        DelayedRun run{test::world(), GetParam(), change};
        run.expect_losses(0, run.steps());
        EXPECT_LE(run.weights_gap(), run.bounds.at("weights"));
    }
}

/// Saves after ordinary steps, the step whose update is the first delayed one, and later steps.
TEST_P(DelayedUpdates, HaveThemOverAResumeOnOtherRanks) {
    for (const std::int64_t steps : {2, 3, 4, 6}) {
        const test::SharedFolder folder{test::world()};
        {
            DelayedRun run{test::world(), GetParam(), saved, folder.file("run")};
            save_or_resume(run, test::world(), steps);
        }
        const auto myself = test::world().group().split(test::world().rank());
        if (test::world().rank() == 0) {
            const auto alone = test::world().in(myself);
            DelayedRun run{alone, GetParam(), on_device, folder.file("run")};
            save_or_resume(run, alone, steps);
            run.expect_losses(steps, run.steps());
            EXPECT_LE(run.weights_gap(), run.bounds.at("weights"));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Types,
                         DelayedUpdates,
                         ::testing::Values(spec::DType::f32, spec::DType::bf16),
                         [](const auto& made) { return made.param == spec::DType::f32 ? "f32" : "bf16"; });

}  // namespace
}  // namespace ziggurat::train
