/// Norms by unit against PyTorch; tests/oracle/README.md defines the files.
#include <gtest/gtest.h>

#include <string>

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

void sharded_on_host(spec::RunSpec& run) {
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = run.parallel.data;
    run.sharding.reduce = spec::ReducePlan::each_microbatch;
    run.tiers.optimizer = run.tiers.gradients = {0.5, 0.5, 0};
    run.tiers.chunk_elements = 1024;
}

void speculating(spec::RunSpec& run) {
    run.tiers.optimizer = run.tiers.gradients = {0, 1, 0};
    run.overlap.optimizer_with_backward = true;
}

class UnitNormsAreOf : public ::testing::TestWithParam<Spread> {};

TEST_P(UnitNormsAreOf, PyTorch) {
    OracleSteps run{"unit_norms_tiny", test::world(), spec::DType::f32, [&](spec::RunSpec& spec) {
                        spec.logging.norms = 1;
                        GetParam().change(spec);
                    }};
    const double bound = run.bounds.at("norms");
    for (std::int64_t step = 0; step < run.steps(); ++step) {
        run.step(step);
        const auto units = run.assembly.unit_norms();
        ASSERT_EQ(units.size(), 4U);
        for (const auto& [name, norm] : norm_kinds) {
            const auto& expected = run.oracle.at("norms/" + std::string{name}).values;
            ASSERT_EQ(expected.size(), units.size() * static_cast<std::size_t>(run.steps()));
            for (std::size_t u = 0; u < units.size(); ++u) {
                const double torch = expected[static_cast<std::size_t>(step) * units.size() + u];
                EXPECT_NEAR(units[u].*norm / torch, 1, bound)
                    << name << " of " << units[u].unit << " in step " << step + 1;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Spreads,
                         UnitNormsAreOf,
                         ::testing::Values(Spread{"on_device", on_device},
                                           Spread{"sharded_on_host", sharded_on_host},
                                           Spread{"speculating", speculating}),
                         [](const auto& made) { return std::string{made.param.name}; });

}  // namespace
}  // namespace ziggurat::train
