#include "plan/goodput.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/simulated_failures.hpp"

namespace ziggurat::plan {
namespace {

constexpr double minute = 60;
constexpr double hour = 3600;

double best_of(const FailureTimes& times) {
    return best_work_seconds(times, 1, 1e9);
}

/// Source: Young, "A first order approximation to the optimum checkpoint interval", 1974
double young_interval(const FailureTimes& times) {
    return std::sqrt(2 * times.blocked * times.between_failures);
}

/// Source: Daly, 2006, the perturbation solution
double daly_interval(const FailureTimes& times) {
    const double root = std::sqrt(times.blocked / (2 * times.between_failures));
    return young_interval(times) * (1 + root / 3 + root * root / 9) - times.blocked;
}

FailureTimes synchronous(double between_failures) {
    return {.between_failures = between_failures, .restart = 10 * minute, .blocked = 5 * minute};
}

constexpr FailureTimes asynchronous{
    .between_failures = 3 * hour, .restart = 5 * minute, .blocked = 20, .written_in_background = 4 * minute};

TEST(Goodput, HasTheBestIntervalsOfYoungAndDaly) {
    for (const double days : {1.0, 4.0, 30.0}) {
        const auto times = synchronous(days * 24 * hour);
        EXPECT_NEAR(best_of(times), daly_interval(times), 0.001 * daly_interval(times));
        EXPECT_NEAR(best_of(times), young_interval(times) - times.blocked, 0.03 * young_interval(times));
    }
    // Daly's figures 3 to 5
    EXPECT_NEAR(best_of(synchronous(24 * hour)), 117 * minute, 0.5 * minute);
    EXPECT_NEAR(best_of(synchronous(6 * hour)), 57 * minute, 0.5 * minute);
    EXPECT_NEAR(best_of(synchronous(15 * minute)), 9.1 * minute, 0.1 * minute);
}

TEST(Goodput, HasTheShareOfDalysEquation) {
    const auto times = synchronous(6 * hour);
    const double mean = times.between_failures;
    const double work = 40 * minute;
    const double interval =
        mean * std::exp(times.restart / mean) * (std::exp((work + times.blocked) / mean) - 1);
    EXPECT_NEAR(productive_share(times, work), work / interval, 1e-12);
}

TEST(Goodput, AgreesWithSimulatedJobs) {
    for (const double work : {10 * minute, 60 * minute, 150 * minute}) {
        const auto times = synchronous(6 * hour);
        const double share = productive_share(times, work);
        EXPECT_NEAR(test::simulated_share(times, work), share, 0.01 * share) << work;
    }
    auto times = asynchronous;
    for (const double write : {0.0, 4 * minute, 15 * minute}) {
        for (const double work : {3 * minute, 12 * minute, 60 * minute}) {
            times.written_in_background = write;
            const double share = productive_share(times, work);
            EXPECT_NEAR(test::simulated_share(times, work), share, 0.01 * share) << write << " " << work;
        }
    }
}

TEST(Goodput, FindsTheOptimumOfSimulatedJobs) {
    for (const auto& times : {synchronous(6 * hour), synchronous(hour), asynchronous}) {
        const double best = best_of(times);
        ASSERT_LT(best, times.between_failures) << "the simulated jobs would hardly end";
        // The simulation covers other intervals than those around the result.
        for (const double near : {0.8 * best, 1.25 * best}) {
            EXPECT_NEAR(test::simulated_best_work(times, near), best, 0.1 * best);
        }
    }
    auto slow_write = asynchronous;
    slow_write.written_in_background = 15 * minute;
    const double best = best_of(slow_write);  // the optimum is a kink, which a parabola does not find
    const double share = test::simulated_share(slow_write, best);
    EXPECT_LT(test::simulated_share(slow_write, 0.9 * best), share);
    EXPECT_LT(test::simulated_share(slow_write, 1.1 * best), share);
}

TEST(Goodput, HasTheLimitsOfRareAndOfFrequentFailures) {
    auto rare = asynchronous;
    rare.between_failures = 1e12;
    EXPECT_NEAR(productive_share(rare, 10 * minute), 600.0 / 620, 1e-6);
    rare.written_in_background = 20 * minute;
    EXPECT_NEAR(productive_share(rare, 10 * minute), 600.0 / 1220, 1e-6) << "the next save waits";

    auto frequent = asynchronous;
    frequent.between_failures = 1;
    EXPECT_EQ(productive_share(frequent, 10 * hour), 0);
    EXPECT_TRUE(std::isfinite(log_slowdown(frequent, 10 * hour)));
}

TEST(Goodput, WaitsForTheWriteRatherThanSavingTwice) {
    auto times = asynchronous;
    times.blocked = 0.01;
    EXPECT_NEAR(best_of(times), 4 * minute, 1) << "as soon as the previous save is complete";
    times.written_in_background = 5 * hour;
    EXPECT_NEAR(best_of(times), 3 * hour, 1) << "repeats cost more than the wait for the write";
    EXPECT_NEAR(best_work_seconds(times, 60, 600), 600, 0.01);
    EXPECT_NEAR(best_work_seconds(times, 5 * hour, 6 * hour), 5 * hour, 0.1);
}

}  // namespace
}  // namespace ziggurat::plan
