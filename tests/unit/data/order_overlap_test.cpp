#include "data/order/order_overlap.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace ziggurat::data {
namespace {

DataOrderState record_of(std::int64_t tokens, std::int64_t seq, bool is_shuffled, std::uint64_t seed = 42) {
    return {.seq = seq,
            .seed = seed,
            .is_shuffled = is_shuffled,
            .sources = {{.weight = 1, .tokens = tokens, .trained = tokens, .stream = 0}}};
}

/// Result of resuming with order `after` after `samples` of `before`.
///
/// It is the reported repetition, and a count over all tokens.
struct Found {
    RepeatedTokens for_display;
    std::int64_t counted = 0;
};
Found go_on(const DataOrderState& before, std::int64_t samples, DataOrderState after) {
    const TrainingOrder first{before};
    const auto position = first.positions(samples)[0];
    after.first_sample = samples;
    after.sources[0].begin = position;
    const TrainingOrder second{after};
    Found found{repeated_tokens(first, 0, position, second, 0)};
    std::set<std::int64_t> seen;
    for (std::int64_t sample = 0; sample < samples; ++sample) {
        for (std::int64_t i = 0; i < before.seq && first.positions(sample)[0].epoch == position.epoch; ++i) {
            seen.insert(first.window(sample).first_token + i);
        }
    }
    for (std::int64_t sample = samples; second.positions(sample)[0].epoch == position.epoch; ++sample) {
        for (std::int64_t i = 0; i < after.seq; ++i) {
            found.counted += seen.contains(second.window(sample).first_token + i) ? 1 : 0;
        }
    }
    return found;
}

TEST(OrderOverlap, NothingComesTwiceWhereTheOrderGoesOn) {
    for (const bool is_shuffled : {false, true}) {
        const auto record = record_of(1000, 8, is_shuffled);
        EXPECT_EQ(0, go_on(record, 30, record).for_display.tokens);
    }
    EXPECT_EQ(0, go_on(record_of(1000, 8, false), 30, record_of(1000, 12, false)).for_display.tokens)
        << "in turn, longer sequences go on at the same token";
}

TEST(OrderOverlap, CountsEachTokenThatComesTwice) {
    const auto shuffled = record_of(1000, 8, true);
    for (const auto& after : {record_of(1000, 12, true), record_of(1000, 8, true, 43),
                              record_of(1000, 8, false), record_of(1000, 4, true)}) {
        for (const std::int64_t samples : {1, 30, 100, 124, 150}) {
            const auto found = go_on(shuffled, samples, after);
            EXPECT_EQ(found.counted, found.for_display.tokens) << samples << " samples, then " << after.seq;
            EXPECT_TRUE(found.for_display.is_exact);
        }
    }
    EXPECT_GT(go_on(shuffled, 60, record_of(1000, 12, true)).for_display.tokens, 100);
}

TEST(OrderOverlap, EstimatesWhereThereAreTooManyTokens) {
    const std::int64_t tokens = std::int64_t{1} << 32;
    const auto before = record_of(tokens, 1024, true);
    auto after = record_of(tokens, 2048, true);
    const TrainingOrder first{before};
    const std::int64_t samples = tokens / 1024 / 4;  // a quarter of the epoch: repeats a quarter of the rest
    const auto position = first.positions(samples)[0];
    after.sources[0].begin = position;
    const auto for_display = repeated_tokens(first, 0, position, TrainingOrder{after}, 0);
    EXPECT_FALSE(for_display.is_exact);
    EXPECT_NEAR(static_cast<double>(for_display.tokens) / static_cast<double>(tokens), 0.75 * 0.25, 0.01);
}

}  // namespace
}  // namespace ziggurat::data
