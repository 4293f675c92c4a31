#include "plan/calibrate/product_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace ziggurat::plan {
namespace {

constexpr ProductMemory no_bound{};

/// Returns samples over a grid of extents with the times that `rate` gives.
std::vector<ProductSample> samples_of(const spec::ProductRate& rate, const ProductMemory& memory = no_bound) {
    std::vector<ProductSample> samples;
    for (const double m : {32.0, 256.0, 2048.0}) {
        for (const double n : {64.0, 512.0, 3072.0}) {
            for (const double k : {64.0, 768.0, 4096.0}) {
                samples.push_back({{m, n, k}, product_seconds({m, n, k}, rate, memory)});
            }
        }
    }
    return samples;
}

void expect_near(const spec::ProductRate& found, const spec::ProductRate& expected, double tolerance) {
    EXPECT_NEAR(found.flops / expected.flops, 1, tolerance);
    EXPECT_NEAR((found.half_m + 1) / (expected.half_m + 1), 1, tolerance);
    EXPECT_NEAR((found.half_n + 1) / (expected.half_n + 1), 1, tolerance);
    EXPECT_NEAR((found.half_k + 1) / (expected.half_k + 1), 1, tolerance);
    EXPECT_NEAR(found.call, expected.call, tolerance * expected.call + 2e-9);
}

TEST(ProductFit, FindsTheRateThatMadeTheTimes) {
    for (const spec::ProductRate& rate :
         {spec::ProductRate{1e11, 40, 12, 100}, spec::ProductRate{6e14, 900, 500, 300},
          spec::ProductRate{5e10, 1, 200, 1500}, spec::ProductRate{2e11, 30, 3, 20, 15e-6}}) {
        const auto samples = samples_of(rate);

        const auto found = fit_products(samples, no_bound);

        expect_near(found, rate, 0.02);
        EXPECT_LT(fit_error(samples, found, no_bound), 0.01);
    }
}

TEST(ProductFit, FindsThatShortExtentsCostNothing) {
    const spec::ProductRate rate{.flops = 2e11};

    expect_near(fit_products(samples_of(rate), no_bound), rate, 0.01);
}

TEST(ProductFit, LeavesTheBoundByMemoryToTheMemory) {
    const spec::ProductRate rate{1e12, 100, 20, 50};
    const ProductMemory memory{.element_bytes = 2, .bandwidth = 5e9};
    const auto samples = samples_of(rate, memory);
    const auto bound = [&](const ProductSample& sample) {
        return sample.seconds > 1.01 * product_seconds(sample.extents, rate, no_bound);
    };
    ASSERT_GT(std::ranges::count_if(samples, bound), 3);

    const auto found = fit_products(samples, memory);
    const auto without = fit_products(samples, no_bound);

    EXPECT_NEAR(found.flops / rate.flops, 1, 0.03);
    EXPECT_LT(fit_error(samples, found, memory), 0.02);
    EXPECT_GT(fit_error(samples, without, no_bound), 0.1);
}

TEST(ProductFit, AveragesErrorsOfTheMeasurement) {
    const spec::ProductRate rate{3e11, 60, 30, 200};
    auto samples = samples_of(rate);
    std::mt19937 random{11};
    std::uniform_real_distribution<double> error{-0.1, 0.1};
    for (auto& sample : samples) {
        sample.seconds *= std::exp(error(random));
    }

    const auto found = fit_products(samples, no_bound);

    EXPECT_NEAR(found.flops / rate.flops, 1, 0.15);
    EXPECT_LE(fit_error(samples, found, no_bound), fit_error(samples, rate, no_bound));
    EXPECT_GT(fit_error(samples, found, no_bound), 0.02);
}

}  // namespace
}  // namespace ziggurat::plan
