#include "train/control/spike_detector.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "tests/support/counted_allocations.hpp"
#include "train/control/roll_back.hpp"

namespace ziggurat::train {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

spec::Spikes spikes_of(spec::SpikeAction action, std::int64_t window = 4, double z = 3) {
    return {.action = action, .window = window, .z = z};
}

/// Returns a detector after alternating losses 1 and 3 and norms 10 and 30: means 2 and 20, deviations
/// 1 and 10.
SpikeDetector full(spec::SpikeAction action) {
    SpikeDetector detector{spikes_of(action), {}};
    for (int i = 0; i < 4; ++i) {
        detector.note(i % 2 == 0 ? 1 : 3, i % 2 == 0 ? 10 : 30, false);
    }
    return detector;
}

TEST(SpikeDetector, LimitsLieSoManyDeviationsAboveTheMean) {
    const auto limits = full(spec::SpikeAction::skip).limits(100);

    EXPECT_DOUBLE_EQ(limits.loss_sum, 100 * (2 + 3 * 1));
    EXPECT_DOUBLE_EQ(limits.grad_norm, 20 + 3 * 10);
    EXPECT_TRUE(limits.skips);
    const auto scores = full(spec::SpikeAction::skip).scores(7, 15);
    EXPECT_DOUBLE_EQ(scores.loss, 5);
    EXPECT_DOUBLE_EQ(scores.grad_norm, -0.5);
}

TEST(SpikeDetector, AWarningSkipsNothing) {
    const auto limits = full(spec::SpikeAction::warn).limits(1);

    EXPECT_DOUBLE_EQ(limits.loss_sum, 5);
    EXPECT_FALSE(limits.skips);
    EXPECT_TRUE(full(spec::SpikeAction::roll_back).limits(1).skips);
}

TEST(SpikeDetector, JudgesOnceTheWindowIsFull) {
    SpikeDetector detector{spikes_of(spec::SpikeAction::skip), {}};
    for (int i = 0; i < 3; ++i) {
        detector.note(1, 1, false);
        EXPECT_EQ(detector.limits(1).loss_sum, endless);
        EXPECT_EQ(detector.limits(1).grad_norm, endless);
    }
    detector.note(1, 1, false);
    EXPECT_NEAR(detector.limits(1).loss_sum, 1.003, 1e-12)
        << "a curve without noise has a deviation all the same";
}

TEST(SpikeDetector, OfOffRemembersNothing) {
    SpikeDetector detector{spikes_of(spec::SpikeAction::off),
                           {.losses = {1, 2, 3, 4}, .grad_norms = {1, 2, 3, 4}}};
    detector.note(1, 1, false);

    EXPECT_TRUE(detector.recent().losses.empty());
    EXPECT_EQ(detector.limits(1).loss_sum, endless);
}

TEST(SpikeDetector, SpikesStayOutOfTheWindowUntilTheyAreTheLevel) {
    auto detector = full(spec::SpikeAction::skip);
    const auto before = detector.recent().losses;
    for (int i = 1; i < SpikeDetector::max_in_a_row; ++i) {
        detector.note(50, 500, true);
        EXPECT_EQ(detector.recent().losses, before);
        EXPECT_EQ(detector.recent().spikes_in_a_row, i);
    }
    detector.note(50, 500, true);
    EXPECT_EQ(detector.recent().losses, std::vector<double>{50});
    EXPECT_EQ(detector.recent().spikes_in_a_row, 0);
    EXPECT_EQ(detector.limits(1).loss_sum, endless) << "the new level has to be known first";
}

TEST(SpikeDetector, OneThatGoesOnIsTheSame) {
    auto whole = full(spec::SpikeAction::skip);
    SpikeDetector resumed{spikes_of(spec::SpikeAction::skip), whole.recent()};
    for (int i = 0; i < 10; ++i) {
        const double loss = 2 + std::sin(i), norm = 20 + 5 * std::cos(i);
        whole.note(loss, norm, i == 4);
        resumed.note(loss, norm, i == 4);
        EXPECT_EQ(whole.limits(7).loss_sum, resumed.limits(7).loss_sum);
        EXPECT_EQ(whole.recent(), resumed.recent());
    }
    const SpikeDetector shorter{spikes_of(spec::SpikeAction::skip, 2), whole.recent()};
    EXPECT_EQ(shorter.recent().losses.size(), 2U) << "the latest, where the deck has a shorter window now";
    EXPECT_EQ(shorter.recent().losses.back(), whole.recent().losses.back());
}

TEST(SpikeDetector, TakesNoMemoryOfAStep) {
    auto detector = full(spec::SpikeAction::skip);
    const test::CountedAllocations counted;
    for (int i = 0; i < 100; ++i) {
        detector.note(1 + i % 3, 1 + i % 5, i % 20 == 7);
        (void)detector.limits(10);
    }
    EXPECT_EQ(counted.allocations(), 0);
}

TEST(RollBackLimit, EndsARunThatGetsNoFurther) {
    RollBackLimit limit;
    for (int i = 0; i < RollBackLimit::max_to_one_step; ++i) {
        limit.note({.from_step = 30 + i, .to_step = 24});
    }
    limit.note({.from_step = 40, .to_step = 32});  // the run got further
    for (int i = 1; i < RollBackLimit::max_to_one_step; ++i) {
        limit.note({.from_step = 40, .to_step = 32});
    }
    EXPECT_THROW(limit.note({.from_step = 41, .to_step = 32}), Error);
}

}  // namespace
}  // namespace ziggurat::train
