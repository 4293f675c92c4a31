/// Units clipped by their own norms against PyTorch; tests/oracle/README.md defines the files.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/oracle/rules/oracle_steps.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::train {
namespace {

/// A way to spread the run and to move its state.
struct Spread {
    const char* name;
    void (*change)(spec::RunSpec&);
};

void on_device(spec::RunSpec&) {}

void in_backward(spec::RunSpec& run) {
    run.overlap.optimizer_with_backward = true;
}

void sharded_on_host(spec::RunSpec& run) {
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = run.parallel.data;
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    run.tiers.optimizer = run.tiers.gradients = {0.5, 0.5, 0};
    run.tiers.chunk_elements = 1024;
    run.overlap.optimizer_with_backward = true;
}

class UnitClips : public ::testing::TestWithParam<std::tuple<Spread, spec::DType>> {};

TEST_P(UnitClips, HaveTheLossesAndWeightsOfPyTorch) {
    const auto& [spread, compute] = GetParam();
    OracleSteps run{"per_unit_tiny", test::world(), compute, [&](spec::RunSpec& spec) {
                        spec.optimizer.clip = spec::ClipPolicy::per_unit;
                        spread.change(spec);
                    }};
    run.expect_losses(0, run.steps());
    EXPECT_LE(run.weights_gap(), run.bounds.at("weights"));
}

INSTANTIATE_TEST_SUITE_P(Spreads,
                         UnitClips,
                         ::testing::Combine(::testing::Values(Spread{"on_device", on_device},
                                                              Spread{"in_backward", in_backward},
                                                              Spread{"sharded_on_host", sharded_on_host}),
                                            ::testing::Values(spec::DType::f32, spec::DType::bf16)),
                         [](const auto& made) {
                             return std::string{std::get<0>(made.param).name} +
                                    (std::get<1>(made.param) == spec::DType::f32 ? "_f32" : "_bf16");
                         });

}  // namespace
}  // namespace ziggurat::train
