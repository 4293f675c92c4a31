#include "train/source_use.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "data/order/order_weights.hpp"
#include "tests/support/counted_allocations.hpp"

namespace ziggurat::train {
namespace {

constexpr std::int64_t batch = 8;

/// Returns an order of sequences of 4 tokens: 10 windows of `a`, 1000 of `b`; `a` ends with step 6.
data::DataOrderState two_sources() {
    return {.seq = 4,
            .is_shuffled = false,
            .sources = {{.weight = 1, .tokens = 41, .trained = 41, .stream = 0, .changes = {{6 * batch, 0}}},
                        {.weight = 1, .tokens = 4001, .trained = 4001, .stream = 1}}};
}

std::vector<spec::Source> names() {
    std::vector<spec::Source> sources(2);
    sources[0].name = "a";
    sources[1].name = "b";
    return sources;
}

using Begun = std::map<std::int64_t, std::string>;

/// Returns the epochs that begin in steps `first` + 1 to `last`.
Begun begun_in(SourceUse& use, std::int64_t first, std::int64_t last) {
    Begun all;
    for (std::int64_t step = first + 1; step <= last; ++step) {
        use.add_step(step * batch);
        for (const auto& begun : use.begun()) {
            all[step] += std::string{begun.source} + std::to_string(begun.epoch);
        }
    }
    return all;
}

TEST(SourceUse, CountsSamplesByStepAndInTotal) {
    SourceUse use{two_sources(), names(), 0};
    for (std::int64_t step = 1; step <= 8; ++step) {
        use.add_step(step * batch);
        const auto by_source = use.by_source();
        EXPECT_EQ(step <= 6 ? 4 : 0, by_source[0].samples) << "step " << step;
        EXPECT_EQ(step <= 6 ? 4 : 8, by_source[1].samples) << "step " << step;
        EXPECT_EQ(4 * std::min<std::int64_t>(step, 6), by_source[0].total);
        EXPECT_EQ(step <= 6 ? 0.5 : 0, by_source[0].share) << "step " << step;
        EXPECT_EQ("b", by_source[1].name);
    }
    EXPECT_EQ((std::vector<std::int64_t>{24, 40}), use.counts());
}

TEST(SourceUse, ReportsEachEpochInTheStepOfItsFirstSample) {
    SourceUse use{two_sources(), names(), 0};
    EXPECT_EQ((Begun{{3, "a2"}, {6, "a3"}}), begun_in(use, 0, 8)) << "10 windows: samples 11 and 21 of a";
}

TEST(SourceUse, ReportsNoEpochTwiceAfterAResume) {
    for (std::int64_t stop = 0; stop <= 8; ++stop) {
        SourceUse before{two_sources(), names(), 0};
        auto all = begun_in(before, 0, stop);
        const auto order = data::reached(two_sources(), stop * batch, before.counts());
        SourceUse after{order, names(), stop * batch};
        all.merge(begun_in(after, stop, 8));
        EXPECT_EQ((Begun{{3, "a2"}, {6, "a3"}}), all) << "stopped after step " << stop;
        EXPECT_EQ(24, after.by_source()[0].total);
    }
}

TEST(SourceUse, ContinuesTotalsOfEarlierOrders) {
    auto order = two_sources();
    data::begin_at(order, 5 * batch);
    order.sources[0].begin = {2, 0};
    order.sources[0].earlier = 20;
    SourceUse use{order, names(), 5 * batch};
    EXPECT_EQ((Begun{{6, "a3"}}), begun_in(use, 5, 8));
    EXPECT_EQ(24, use.by_source()[0].total);
}

TEST(SourceUse, AllocatesNothingInAStep) {
    SourceUse use{two_sources(), names(), 0};
    const test::CountedAllocations counted;
    for (std::int64_t step = 1; step <= 20; ++step) {
        use.add_step(step * batch);
    }
    EXPECT_EQ(counted.allocations(), 0);
}

}  // namespace
}  // namespace ziggurat::train
