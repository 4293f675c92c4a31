/// Training steps that are compared with those of an oracle.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "optim/adamw_inputs.hpp"
#include "optim/learning_rate.hpp"
#include "tests/oracle/oracle_run.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/norm_gap.hpp"
#include "tests/support/tensor_file.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Training steps of a model with an oracle's initial weights and batch, on the ranks of a group.
struct OracleSteps {
    /// \param file    name of its files
    /// \param change  what the run has in addition to the oracle's deck
    OracleSteps(const std::string& file,
                const comm::Context& group,
                spec::DType compute,
                const std::function<void(spec::RunSpec&)>& change,
                std::string dir = "")
        : oracle{test::path_of("rules/" + file + ".safetensors")},
          config(nlohmann::json::parse(std::ifstream{test::path_of("rules/" + file + ".json")})),
          bounds(config.at("bounds").at(compute == spec::DType::f32 ? "f32" : "bf16")),
          spec{spec_of_run(file, group.size(), compute, change, std::move(dir))},
          assembly{spec, group, test::processors_for_tests(spec.parallel.threads)},
          rank{group.rank()} {
        for (const auto& [name, tensor] : oracle.under("initial/")) {
            assembly.set_tensor(name, tensor.values);
        }
        const auto& mask = oracle.at("batch/loss_mask").integers;
        targets = std::count(mask.begin(), mask.end(), 1);
    }

    spec::RunSpec spec_of_run(const std::string& file,
                              int ranks,
                              spec::DType compute,
                              const std::function<void(spec::RunSpec&)>& change,
                              std::string dir) const {
        auto run = test::spec_of(config, {file.c_str(), compute, 1, spec::RecomputeKind::none}, ranks,
                                 std::int64_t(oracle.at("losses").size()));
        run.run.dir = std::move(dir);
        run.run.resume = spec::Resume::automatic;
        if (const auto delayed = config.find("delayed_update"); delayed != config.end()) {
            run.overlap.delayed_update = true;
            run.overlap.delayed_update_after = delayed->at("after");
        }
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
        assembly.step_inputs().sums_norms = spec.logging.norms > 0 ? 1 : 0;
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
            all += test::squared_gap(assembly.tensor(schedule::StateKind::parameters, name), tensor.values);
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

}  // namespace ziggurat::train
