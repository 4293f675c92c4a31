#include "plan/calibrate/op_rates.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "plan/cost/op_costs.hpp"
#include "plan/cost/rates.hpp"
#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using spec::SweepKind;

/// A training program of a small model.
struct SmallModel {
    explicit SmallModel(const char* family)
        : spec{test::small_spec(family, 1)},
          program{schedule::build_program(spec, 0, schedule::Variant::train)},
          layout{spec, 0} {}

    std::vector<double> seconds(const Rates& rates) const { return op_seconds(program, spec, layout, rates); }

    spec::RunSpec spec;
    schedule::Program program;
    schedule::ModelLayout layout;
};

/// Returns rates that all differ.
Rates distinct_rates() {
    Rates rates{
        .products = {.forward = {.flops = 3e9}}, .attention = {2e9, 1e9}, .memory = 9e9, .op_overhead = 1e-7};
    double rate = 1e9;
    for (auto& sweep : rates.sweeps) {
        sweep = {rate, rate + 0.5e9};
        rate += 1e9;
    }
    return rates;
}

TEST(OpRates, AreThoseThatMadeThePlannersTimes) {
    const auto rates = distinct_rates();
    const SmallModel llama{"llama"}, gpt2{"gpt2"};
    const auto llama_seconds = llama.seconds(rates), gpt2_seconds = gpt2.seconds(rates);

    const auto found =
        op_rates(std::vector<TimedProgram>{{llama.program, llama.spec, llama.layout, llama_seconds},
                                           {gpt2.program, gpt2.spec, gpt2.layout, gpt2_seconds}},
                 rates.op_overhead);

    EXPECT_NEAR(found.attention.forward_flops / 2e9, 1, 1e-6);
    EXPECT_NEAR(found.attention.backward_flops / 1e9, 1, 1e-6);
    for (const auto sweep :
         {SweepKind::norm, SweepKind::activation, SweepKind::rotation, SweepKind::embedding}) {
        EXPECT_NEAR(found.sweeps[sweep].forward / rates.sweeps[sweep].forward, 1, 1e-6) << to_string(sweep);
        EXPECT_NEAR(found.sweeps[sweep].backward / rates.sweeps[sweep].backward, 1, 1e-6) << to_string(sweep);
    }
    EXPECT_NEAR(found.sweeps[SweepKind::squares].forward / rates.sweeps[SweepKind::squares].forward, 1, 1e-6);
}

TEST(OpRates, OfWorkThatNoOpDoesAreUnknown) {
    const SmallModel gpt2{"gpt2"};
    const auto seconds = gpt2.seconds(distinct_rates());

    const auto found =
        op_rates(std::vector<TimedProgram>{{gpt2.program, gpt2.spec, gpt2.layout, seconds}}, 0);

    EXPECT_EQ(found.sweeps[SweepKind::rotation], (spec::SweepRate{}));
    EXPECT_GT(found.sweeps[SweepKind::norm].forward, 0);
}

TEST(OpRates, LeaveOutOpsWithoutATime) {
    const SmallModel llama{"llama"};
    const std::vector<double> seconds(llama.program.ops.size());

    EXPECT_EQ(op_rates(std::vector<TimedProgram>{{llama.program, llama.spec, llama.layout, seconds}}, 1e-6),
              OpRates{});
}

TEST(OpOverhead, IsTheTimeOfOpsWhoseKernelsHaveAlmostNoWork) {
    const SmallModel llama{"llama"};
    auto rates = distinct_rates();
    rates.op_overhead = 4e-6;
    for (auto& sweep : rates.sweeps) {
        sweep = {1e15, 1e15};
    }
    const auto seconds = llama.seconds(rates);

    EXPECT_NEAR(op_overhead({llama.program, llama.spec, llama.layout, seconds}), 4e-6, 1e-8);
}

}  // namespace
}  // namespace ziggurat::plan
