#include "data/order/source_mix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace ziggurat::data {
namespace {

void expect_deals(const std::vector<double>& weights, std::int64_t samples) {
    const NestedMix mix{weights};
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<std::int64_t> counts(weights.size(), 0);
    for (std::int64_t sample = 0; sample < samples; ++sample) {
        const auto pick = mix.pick(sample);

        auto& count = counts.at(static_cast<std::size_t>(pick.source));
        ASSERT_EQ(count, pick.index) << "each source counts its own samples without gaps";
        ++count;
        for (std::size_t s = 0; s < weights.size(); ++s) {
            const double due = static_cast<double>(sample + 1) * weights[s] / total;
            ASSERT_LE(std::abs(static_cast<double>(counts[s]) - due), static_cast<double>(weights.size()))
                << "source " << s << " after sample " << sample;
        }
    }
}

TEST(NestedMix, KeepsEverySourceWithinAFewSamplesOfItsDue) {
    expect_deals({1}, 100);
    expect_deals({1, 1}, 1000);
    expect_deals({0.7, 0.3}, 1000);
    expect_deals({1, 2, 3, 4}, 5000);
    expect_deals({0.001, 10, 1e-9, 3}, 5000);
    expect_deals({0, 1, 0}, 100);
    expect_deals({1, 0}, 100);
}

TEST(NestedMix, RoundsHalvesUpSoThatEqualSourcesTakeTurns) {
    const NestedMix mix{std::vector<double>{1, 1}};

    EXPECT_EQ((SourceMix::Pick{0, 0}), mix.pick(0));
    EXPECT_EQ((SourceMix::Pick{1, 0}), mix.pick(1));
    EXPECT_EQ((SourceMix::Pick{0, 1}), mix.pick(2));
    EXPECT_EQ((SourceMix::Pick{1, 1}), mix.pick(3));
}

TEST(NestedMix, CountsWhatItHasDealt) {
    const NestedMix mix{std::vector<double>{1, 0.3, 2}};
    std::vector<std::int64_t> dealt(3, 0);
    for (std::int64_t samples = 0; samples < 500; ++samples) {
        std::vector<std::int64_t> counts(3);
        mix.count(samples, counts);
        ASSERT_EQ(dealt, counts);
        ++dealt[static_cast<std::size_t>(mix.pick(samples).source)];
    }
}

TEST(NestedMix, IsAClosedFormFarOut) {
    const NestedMix mix{std::vector<double>{0.7, 0.3}};
    const std::int64_t far = std::int64_t{1} << 61;
    std::vector<std::int64_t> next{-1, -1};
    for (std::int64_t sample = far; sample < far + 1000; ++sample) {
        const auto pick = mix.pick(sample);
        auto& expected = next[static_cast<std::size_t>(pick.source)];
        if (expected >= 0) {
            ASSERT_EQ(expected, pick.index);
        }
        expected = pick.index + 1;
    }
    EXPECT_NEAR(0.7, static_cast<double>(next[0]) / static_cast<double>(far), 1e-8);
    EXPECT_NEAR(0.3, static_cast<double>(next[1]) / static_cast<double>(far), 1e-8);
}

}  // namespace
}  // namespace ziggurat::data
