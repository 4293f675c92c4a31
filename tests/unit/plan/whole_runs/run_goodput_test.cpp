#include "plan/run_goodput.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "plan/checkpoint_size.hpp"
#include "tests/support/simulated_failures.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

constexpr double step = 7;

/// Returns a run of eight ranks on four nodes for 100,000 steps.
spec::RunSpec run_that_saves_every(const spec::Interval& every) {
    auto spec = test::small_spec("llama", 8);
    spec.parallel.ranks_per_node = 2;
    spec.train.steps = 100'000;
    spec.checkpoint.every = every;
    return spec;
}

/// Returns a machine for `spec` that copies the state in 20 s and writes a checkpoint in four minutes.
spec::MachineSpec machine_for(const spec::RunSpec& spec) {
    const auto bytes = static_cast<double>(checkpoint_size(spec).bytes);
    spec::MachineSpec machine;
    machine.has_device = true;
    machine.device_to_host_rate = bytes / 8 / 20;
    machine.checkpoint_rate = bytes / 4 / 240;
    machine.seconds_to_failure = 4 * 3 * 3600;
    machine.restart_seconds = 60;
    machine.price_per_hour = 2.5;
    return machine;
}

TEST(RunGoodput, HasTheTimesOfTheMachineAndOfTheDeck) {
    auto spec = run_that_saves_every({.seconds = 1800});
    auto machine = machine_for(spec);

    const auto goodput = run_goodput(spec, machine, step);

    ASSERT_TRUE(goodput);
    EXPECT_EQ(goodput->nodes, 4);
    EXPECT_DOUBLE_EQ(goodput->times.between_failures, 3 * 3600);
    EXPECT_NEAR(goodput->times.restart, 60 + 240, 1e-6);
    EXPECT_NEAR(goodput->times.blocked, 20, 1e-6);
    EXPECT_NEAR(goodput->times.written_in_background, 240, 1e-6);
    EXPECT_NEAR(goodput->interval, 255 * step + 20, 1e-6) << "the first end of a step after 30 minutes";
    EXPECT_DOUBLE_EQ(goodput->share, productive_share(goodput->times, 255 * step));
    const double tokens_per_second = 32 * 16 / step;
    EXPECT_NEAR(*goodput->tokens_per_day, 86400 * tokens_per_second * goodput->share, 1e-3);
    EXPECT_NEAR(*goodput->price, 4 * 2.5 * 100'000 * step / 3600 / goodput->share, 1e-3);

    spec.checkpoint.is_async = false;
    const auto synchronous = run_goodput(spec, machine, step);
    EXPECT_NEAR(synchronous->times.blocked, 240, 1e-6);
    EXPECT_EQ(synchronous->times.written_in_background, 0);

    spec.checkpoint.is_async = true;
    spec.tiers.optimizer = {0, 0.5, 0.5};
    spec.precision.compute = spec::DType::bf16;
    EXPECT_NEAR(run_goodput(spec, machine, step)->times.blocked, 10, 1e-6) << "state on NVMe is not copied";
    machine.checkpoint_rate = 0;
    machine.nvme_write_rate = machine_for(spec).checkpoint_rate / 2;
    machine.nvme_read_rate = machine_for(spec).checkpoint_rate / 3;
    EXPECT_NEAR(run_goodput(spec, machine, step)->times.written_in_background, 480, 1e-6);
    EXPECT_NEAR(run_goodput(spec, machine, step)->times.restart, 60 + 720, 1e-6);
}

TEST(RunGoodput, FindsTheOptimumOfSimulatedJobs) {
    const auto spec = run_that_saves_every({.seconds = 1800});
    const auto goodput = run_goodput(spec, machine_for(spec), step);
    ASSERT_TRUE(goodput);

    const double work = test::simulated_best_work(goodput->times, 900);

    const double interval = work + goodput->times.blocked;
    EXPECT_NEAR(goodput->best_interval, interval, 0.1 * interval);
    EXPECT_NEAR(goodput->best.seconds, interval, 0.1 * interval);
    EXPECT_NEAR(test::simulated_share(goodput->times, 255 * step), goodput->share, 0.01 * goodput->share);
}

TEST(RunGoodput, ProposesAnIntervalInTheUnitOfTheDeck) {
    const auto by_time = run_that_saves_every({.seconds = 1800});
    const auto machine = machine_for(by_time);
    const auto best = run_goodput(by_time, machine, step);
    const auto steps = std::llround((best->best_interval - 20) / step);
    EXPECT_EQ(best->best, spec::Interval{.seconds = 660});
    EXPECT_NEAR(best->best_interval, 660, 30);
    EXPECT_NEAR(best->extra_time, best->best_share / best->share - 1, 1e-9);
    EXPECT_GT(best->extra_time, 0.02);

    const auto by_steps = run_goodput(run_that_saves_every({.steps = 255}), machine, step);
    EXPECT_EQ(by_steps->best, spec::Interval{.steps = steps});
    EXPECT_DOUBLE_EQ(by_steps->share, best->share);
    const auto by_tokens = run_goodput(run_that_saves_every({.tokens = 255 * 32 * 16}), machine, step);
    EXPECT_EQ(by_tokens->best, spec::Interval{.tokens = steps * 32 * 16});
    EXPECT_DOUBLE_EQ(by_tokens->share, best->share);
    const auto earliest = run_that_saves_every({.steps = 255, .tokens = 1'000'000'000, .seconds = 9000});
    EXPECT_DOUBLE_EQ(run_goodput(earliest, machine, step)->share, best->share);
    EXPECT_EQ(run_goodput(run_that_saves_every({.steps = steps}), machine, step)->extra_time, 0);

    const auto long_steps = run_goodput(by_time, machine, 5000);
    EXPECT_DOUBLE_EQ(long_steps->best_interval, 5020) << "whole steps";
    auto short_run = by_time;
    short_run.train.steps = 10;
    EXPECT_DOUBLE_EQ(run_goodput(short_run, machine, step)->share, productive_share(best->times, 10 * step))
        << "the run ends before its first interval";
}

TEST(RunGoodput, RestartsARunWithoutSavesFromItsFirstStep) {
    auto spec = run_that_saves_every({.seconds = 1800});
    const auto machine = machine_for(spec);
    spec.train.steps = 1000;
    spec.checkpoint.every = std::nullopt;

    const auto goodput = run_goodput(spec, machine, step);

    ASSERT_TRUE(goodput);
    const double mean = goodput->times.between_failures;
    EXPECT_NEAR(1 / goodput->share,
                mean / (1000 * step) * std::exp(60 / mean) * (std::exp(1000 * step / mean) - 1), 1e-9);
    EXPECT_EQ(goodput->best, spec::Interval{.seconds = 660});
}

TEST(RunGoodput, IsUnknownWithoutFailuresRatesOrTheTimeOfAStep) {
    const auto by_steps = run_that_saves_every({.steps = 100});
    const auto by_time = run_that_saves_every({.seconds = 900});
    auto machine = machine_for(by_time);
    EXPECT_FALSE(run_goodput(by_steps, machine, {}));
    EXPECT_FALSE(run_goodput(run_that_saves_every({.tokens = 100'000}), machine, {}));
    const auto goodput = run_goodput(by_time, machine, {});
    ASSERT_TRUE(goodput);
    EXPECT_DOUBLE_EQ(goodput->share, productive_share(goodput->times, 880));
    EXPECT_FALSE(goodput->tokens_per_day);
    EXPECT_FALSE(goodput->price);

    EXPECT_FALSE(lacks_checkpoint_rate(machine));
    machine.checkpoint_rate = 0;
    EXPECT_TRUE(lacks_checkpoint_rate(machine));
    EXPECT_FALSE(run_goodput(by_time, machine, step));
    machine.nvme_write_rate = 1e9;
    EXPECT_TRUE(lacks_checkpoint_rate(machine)) << "a restart reads";
    machine.nvme_read_rate = 1e9;
    EXPECT_TRUE(run_goodput(by_time, machine, step));
    machine.seconds_to_failure = 0;
    EXPECT_FALSE(run_goodput(by_time, machine, step));
    EXPECT_FALSE(lacks_checkpoint_rate(machine));
}

}  // namespace
}  // namespace ziggurat::plan
