#include "data/order/even_mix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace ziggurat::data {
namespace {

using Ranges = std::vector<EvenMix::Range>;
using Picks = std::vector<SourceMix::Pick>;

EvenMix mix_of(const Ranges& ranges) {
    return EvenMix{ranges, {}};
}

std::vector<std::int64_t> counts_of(const SourceMix& mix, std::size_t sources, std::int64_t samples) {
    std::vector<std::int64_t> counts(sources);
    mix.count(samples, counts);
    return counts;
}

/// Picks samples in sequence and compares each count with the sum of the shares.
///
/// Returns the largest difference.
double expect_even(const Ranges& ranges, std::int64_t samples) {
    const EvenMix mix = mix_of(ranges);
    const std::size_t sources = ranges.front().weights.size();
    std::vector<double> due(sources, 0);
    std::vector<std::int64_t> counts(sources, 0);
    std::size_t range = 0;
    double largest = 0;
    for (std::int64_t sample = 0; sample < samples; ++sample) {
        while (range + 1 < ranges.size() && ranges[range + 1].first <= sample) {
            ++range;
        }
        const auto& weights = ranges[range].weights;
        const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
        const auto pick = mix.pick(sample);
        auto& count = counts.at(static_cast<std::size_t>(pick.source));
        EXPECT_EQ(count, pick.index) << "each source counts its own samples without gaps";
        ++count;
        for (std::size_t s = 0; s < sources; ++s) {
            due[s] += weights[s] / sum;
            const double lag = std::abs(static_cast<double>(counts[s]) - due[s]);
            EXPECT_LT(lag, 1) << "source " << s << " after sample " << sample << " of range " << range;
            largest = std::max(largest, lag);
        }
        if (testing::Test::HasFailure()) {
            break;
        }
    }
    return largest;
}

TEST(EvenMix, KeepsEverySourceWithinOneSampleOfItsDue) {
    expect_even({{0, {1, 1}}}, 1000);
    expect_even({{0, {0.7, 0.3}}}, 1000);
    expect_even({{0, {1, 2, 3, 4}}}, 5000);
    expect_even({{0, {0.001, 10, 1e-9, 3}}}, 5000);
    expect_even({{0, {1, 1, 97, 1}}}, 5000);
    expect_even({{0, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 100}}}, 5000);
    expect_even({{0, {0, 1, 0}}}, 100);
}

TEST(EvenMix, KeepsThemThereWhenWeightsChange) {
    expect_even({{0, {0.7, 0.3}}, {100, {0.2, 0.8}}}, 1000);
    expect_even({{0, {1, 0}}, {101, {0, 1}}, {203, {1, 1}}}, 1000);
    expect_even({{0, {1, 1, 0}}, {7, {0, 1, 1}}, {8, {1, 0, 5}}, {9, {1, 1, 1}}}, 1000);
}

TEST(EvenMix, HoldsForRandomWeightsAndChanges) {
    std::mt19937_64 random{7};
    const auto draw = [&](std::int64_t below) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
    };
    double largest = 0;
    for (int trial = 0; trial < 400 && !HasFailure(); ++trial) {
        const auto sources = static_cast<std::size_t>(1 + draw(9));
        Ranges ranges;
        std::int64_t first = 0;
        for (std::int64_t r = 0; r <= draw(8); ++r) {
            EvenMix::Range range{first, std::vector<double>(sources)};
            for (auto& weight : range.weights) {
                weight = draw(4) == 0 ? 0 : std::exp(static_cast<double>(draw(1400)) / 100 - 7);
            }
            range.weights[static_cast<std::size_t>(draw(static_cast<std::int64_t>(sources)))] = 1;
            ranges.push_back(range);
            first += 1 + (draw(2) == 0 ? draw(5) : draw(200));
        }
        largest = std::max(largest, expect_even(ranges, first + 300));
    }
    EXPECT_GT(largest, 0.9) << "hard cases were tried";
}

TEST(EvenMix, GivesNothingToASourceOfWeightZero) {
    std::mt19937_64 random{3};
    for (int trial = 0; trial < 100; ++trial) {
        const auto end = static_cast<std::int64_t>(1 + random() % 50);
        const double other = 0.1 * static_cast<double>(1 + random() % 20);
        const EvenMix mix = mix_of({{0, {1, other, 0.3, 0}}, {end, {0, other, 0.3, 1}}});
        for (std::int64_t sample = 0; sample < 200; ++sample) {
            EXPECT_NE(mix.pick(sample).source, sample < end ? 3 : 0) << "sample " << sample << " of " << end;
        }
    }
}

TEST(EvenMix, TwoEqualSourcesTakeTurns) {
    const EvenMix mix = mix_of({{0, {1, 1}}});

    EXPECT_EQ((SourceMix::Pick{0, 0}), mix.pick(0));
    EXPECT_EQ((SourceMix::Pick{1, 0}), mix.pick(1));
    EXPECT_EQ((SourceMix::Pick{0, 1}), mix.pick(2));
    EXPECT_EQ((SourceMix::Pick{1, 1}), mix.pick(3));
}

TEST(EvenMix, PicksTheSameInAnyOrderOfCalls) {
    const Ranges ranges{{0, {0.5, 0.2, 3}}, {300, {1, 0, 1}}, {1111, {0.1, 2, 0.3}}};
    constexpr std::int64_t samples = 5000;
    const EvenMix forward = mix_of(ranges);
    Picks expected;
    for (std::int64_t sample = 0; sample < samples; ++sample) {
        expected.push_back(forward.pick(sample));
    }
    const EvenMix mix = mix_of(ranges);
    std::mt19937_64 random{1};
    for (int i = 0; i < 2000; ++i) {
        const auto sample = static_cast<std::int64_t>(random() % samples);
        ASSERT_EQ(expected[static_cast<std::size_t>(sample)], mix.pick(sample)) << "sample " << sample;
    }
}

TEST(EvenMix, CountsItsPicks) {
    const EvenMix mix = mix_of({{0, {1, 0.3, 2}}, {200, {0, 1, 1}}});
    std::vector<std::int64_t> picked(3, 0);
    for (std::int64_t samples = 0; samples < 500; ++samples) {
        ASSERT_EQ(picked, counts_of(mix, 3, samples));
        ++picked[static_cast<std::size_t>(mix.pick(samples).source)];
    }
}

TEST(EvenMix, ContinuesFromARecordedState) {
    const Ranges ranges{{0, {0.5, 0.2, 3}}, {300, {1, 0, 1}}, {1111, {0.1, 2, 0.3}}};
    const EvenMix whole = mix_of(ranges);
    for (const std::int64_t samples : {0, 1, 299, 300, 301, 1110, 1111, 2000}) {
        const EvenMix::MixPosition reached{samples, counts_of(whole, 3, samples)};
        EXPECT_TRUE(EvenMix::can_reach(ranges, reached));
        const EvenMix rest{ranges, reached};
        for (std::int64_t sample = samples; sample < samples + 500; ++sample) {
            ASSERT_EQ(whole.pick(sample), rest.pick(sample)) << "sample " << sample << " from " << samples;
        }
    }
}

TEST(EvenMix, ContinuesFarOutFromARecordedState) {
    const Ranges ranges{{0, {0.75, 0.25}}, {std::int64_t{1} << 50, {0.25, 0.75}}};
    const EvenMix::MixPosition reached{std::int64_t{1} << 52,
                                       {(std::int64_t{3} << 48) + (std::int64_t{3} << 48),
                                        (std::int64_t{1} << 48) + (std::int64_t{9} << 48)}};
    ASSERT_EQ(reached.samples, reached.counts[0] + reached.counts[1]);
    EXPECT_TRUE(EvenMix::can_reach(ranges, reached));
    const EvenMix mix{ranges, reached};
    EXPECT_EQ((std::vector{reached.counts[0] + 250, reached.counts[1] + 750}),
              counts_of(mix, 2, reached.samples + 1000));
}

TEST(EvenMix, CorrectsCountsOfOtherWeights) {
    const EvenMix mix{Ranges{{0, {1, 1, 2}}}, {40, {14, 10, 16}}};
    const auto counts = counts_of(mix, 3, 80);
    for (std::size_t s = 0; s < 3; ++s) {
        EXPECT_NEAR(s == 2 ? 40 : 20, static_cast<double>(counts[s]), 1) << "source " << s;
    }
}

TEST(EvenMix, RejectsImpossibleStates) {
    const Ranges ranges{{0, {1, 1}}};
    EXPECT_TRUE(EvenMix::can_reach(ranges, {10, {5, 5}}));
    EXPECT_FALSE(EvenMix::can_reach(ranges, {10, {5, 6}}));
    EXPECT_FALSE(EvenMix::can_reach(ranges, {10, {11, -1}}));
    EXPECT_FALSE(EvenMix::can_reach(ranges, {4000, {4000, 0}}));
    EXPECT_FALSE(EvenMix::can_reach(ranges, {10, {std::int64_t{1} << 62, 0}}));
}

}  // namespace
}  // namespace ziggurat::data
