#include "data/order/sample_order.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "data/order/order_weights.hpp"

namespace ziggurat::data {
namespace {

TEST(SourcePart, CountsWindowsThatShareATokenWithTheirNeighbour) {
    EXPECT_EQ(0, (SourcePart{.begin = 0, .end = 8}.num_windows(8)));
    EXPECT_EQ(1, (SourcePart{.begin = 0, .end = 9}.num_windows(8)));
    EXPECT_EQ(1, (SourcePart{.begin = 5, .end = 21}.num_windows(8)));
    EXPECT_EQ(2, (SourcePart{.begin = 5, .end = 22}.num_windows(8)));
}

TEST(TrainingOrder, InTurnWalksOnceThroughTheSourceAndBeginsAnew) {
    const TrainingOrder order{{{.source = 3, .begin = 100, .end = 117}}, 8, 1, false};

    EXPECT_EQ(2, order.windows_per_epoch(0));
    EXPECT_EQ((Window{3, 100}), order.window(0));
    EXPECT_EQ((Window{3, 108}), order.window(1));
    EXPECT_EQ((Window{3, 100}), order.window(2));
}

TEST(TrainingOrder, ShuffledEpochsVisitEveryWindowOnceInsideThePart) {
    for (const std::int64_t tokens : {9, 17, 100, 129, 1000, 1003}) {
        const std::int64_t seq = 8;
        const TrainingOrder order{{{.source = 0, .begin = 50, .end = 50 + tokens}}, seq, 42, true};
        const std::int64_t per_epoch = order.windows_per_epoch(0);
        EXPECT_GE(per_epoch, (tokens - 1) / seq - ((tokens - 1) / seq >= 16 ? 1 : 0));

        for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
            std::set<std::int64_t> firsts;
            for (std::int64_t i = 0; i < per_epoch; ++i) {
                const auto window = order.window(epoch * per_epoch + i);
                EXPECT_GE(window.first_token, 50);
                EXPECT_LE(window.first_token + seq + 1, 50 + tokens);
                firsts.insert(window.first_token);
            }
            EXPECT_EQ(per_epoch, std::ssize(firsts));
            EXPECT_EQ((per_epoch - 1) * seq, *firsts.rbegin() - *firsts.begin());
        }
    }
}

TEST(TrainingOrder, EpochsDifferInOrderAndInWhereTheirWindowsBegin) {
    const TrainingOrder order{{{.source = 0, .begin = 0, .end = 10'000}}, 16, 42, true};
    const std::int64_t per_epoch = order.windows_per_epoch(0);
    std::set<std::int64_t> shifts;
    int equal = 0;
    for (std::int64_t epoch = 0; epoch < 40; ++epoch) {
        shifts.insert(order.window(epoch * per_epoch).first_token % 16);
    }
    for (std::int64_t i = 0; i < per_epoch; ++i) {
        equal += order.window(i).first_token / 16 == order.window(per_epoch + i).first_token / 16 ? 1 : 0;
    }
    EXPECT_GE(shifts.size(), 8u);
    EXPECT_LT(equal, per_epoch / 20);
}

TEST(TrainingOrder, EverySourceHasItsOwnEpochs) {
    // The first source is small and heavily weighted: it has many epochs during one of the other.
    const TrainingOrder order{{{.source = 0, .begin = 0, .end = 33, .weight = 3},
                               {.source = 1, .begin = 0, .end = 8001, .weight = 1}},
                              8,
                              42,
                              true};
    std::vector<int> times_drawn(4, 0);
    std::set<std::int64_t> large;
    int from_large = 0;
    for (std::int64_t sample = 0; sample < 3200; ++sample) {
        const auto window = order.window(sample);
        if (window.source == 0) {
            ++times_drawn[static_cast<std::size_t>(window.first_token / 8)];
        } else {
            large.insert(window.first_token);
            ++from_large;
        }
    }
    EXPECT_EQ((std::vector<int>{600, 600, 600, 600}), times_drawn);
    EXPECT_EQ(800, from_large);
    EXPECT_EQ(800u, large.size());
}

TEST(SequentialOrder, WalksThroughAllPartsOnce) {
    const SequentialOrder order{
        {{.source = 0, .begin = 10, .end = 27}, {.source = 2, .begin = 0, .end = 9}}, 8, 0};

    ASSERT_EQ(3, order.num_samples());
    EXPECT_EQ((Window{0, 10}), order.window(0));
    EXPECT_EQ((Window{0, 18}), order.window(1));
    EXPECT_EQ((Window{2, 0}), order.window(2));
}

TEST(SequentialOrder, SpreadsALimitOverAllParts) {
    const std::vector<SourcePart> parts{{.source = 0, .begin = 0, .end = 801},
                                        {.source = 1, .begin = 0, .end = 801}};

    const SequentialOrder few{parts, 8, 10};
    const SequentialOrder more_than_there_are{parts, 8, 1000};

    ASSERT_EQ(10, few.num_samples());
    EXPECT_EQ((Window{0, 0}), few.window(0));
    EXPECT_EQ((Window{0, 4 * 20 * 8}), few.window(4));
    EXPECT_EQ((Window{1, 0}), few.window(5));
    EXPECT_EQ((Window{1, 4 * 20 * 8}), few.window(9));
    EXPECT_EQ(200, more_than_there_are.num_samples());
    EXPECT_EQ(0, (SequentialOrder{{}, 8, 0}.num_samples()));
}

TEST(SampleOf, DealsTheSameSamplesOfAStepToAnyLayout) {
    const std::int64_t global_batch = 24;
    for (const int data_degree : {1, 2, 3, 6}) {
        for (const std::int64_t micro_batch : {1, 2, 4}) {
            const std::int64_t micro_batches = global_batch / (micro_batch * data_degree);
            spec::Train train;
            train.global_batch = global_batch;
            train.micro_batch = micro_batch;
            train.micro_batches = micro_batches;
            std::int64_t expected = 5 * global_batch;
            for (int rank = 0; rank < data_degree; ++rank) {
                for (std::int64_t micro = 0; micro < micro_batches; ++micro) {
                    for (std::int64_t row = 0; row < micro_batch; ++row) {
                        EXPECT_EQ(expected, sample_of(train, data_degree, 5, rank, micro, row));
                        ++expected;
                    }
                }
            }
            EXPECT_EQ(6 * global_batch, expected);
        }
    }
}

DataOrderState record_of(std::vector<DataOrderState::Source> sources, std::int64_t seq, bool is_shuffled) {
    for (std::size_t s = 0; s < sources.size(); ++s) {
        sources[s].stream = static_cast<std::uint32_t>(s);
    }
    return {.seq = seq, .seed = 42, .is_shuffled = is_shuffled, .sources = std::move(sources)};
}

/// Returns the record of a run that resumes at `sample`, each source at its position.
DataOrderState going_on(DataOrderState record, std::int64_t sample) {
    const auto positions = TrainingOrder{record}.positions(sample);
    record.first_sample = record.reached_sample = sample;
    for (std::size_t s = 0; s < positions.size(); ++s) {
        record.sources[s].begin = positions[s];
    }
    return record;
}

TEST(TrainingOrder, GoesOnWhereItWasWhetherOrNotItBeginsAnew) {
    for (const bool is_shuffled : {false, true}) {
        const auto record = record_of(
            {{.weight = 2, .tokens = 500, .trained = 500}, {.weight = 1, .tokens = 130, .trained = 121}}, 8,
            is_shuffled);
        const TrainingOrder whole{record};
        const TrainingOrder by_parts{{{.source = 0, .begin = 0, .end = 500, .weight = 2},
                                      {.source = 1, .begin = 0, .end = 121, .weight = 1}},
                                     8,
                                     42,
                                     is_shuffled};
        for (const std::int64_t seam : {0, 1, 30, 92, 93, 200}) {
            const TrainingOrder rest{going_on(record, 3 * seam)};  // the mix of 2:1 also restarts there
            for (std::int64_t sample = 3 * seam; sample < 3 * seam + 300; ++sample) {
                ASSERT_EQ(whole.window(sample), by_parts.window(sample));
                ASSERT_EQ(whole.window(sample), rest.window(sample)) << "seam " << seam << " of " << sample;
                ASSERT_EQ(whole.positions(sample), rest.positions(sample));
            }
        }
    }
}

/// Returns an order whose weights change at samples 100 and 250; the last source begins there.
DataOrderState changing_order() {
    return record_of({{.weight = 2, .tokens = 500, .trained = 500, .changes = {{100, 1}, {250, 0}}},
                      {.weight = 1, .tokens = 130, .trained = 121},
                      {.weight = 0, .tokens = 900, .trained = 900, .changes = {{250, 5}}}},
                     8, true);
}

TEST(TrainingOrder, SourcesContinueTheirWindowsWhenWeightsChange) {
    const TrainingOrder order{changing_order()};
    std::vector<std::int64_t> counts(3, 0);
    for (std::int64_t sample = 0; sample < 600; ++sample) {
        const auto window = order.window(sample);
        const auto source = static_cast<std::size_t>(window.source);
        EXPECT_NE(source, sample < 250 ? 2U : 0U) << "sample " << sample;
        const std::int64_t windows = order.windows_per_epoch(window.source);
        EXPECT_EQ(order.first_token(window.source, counts[source] / windows, counts[source] % windows),
                  window.first_token)
            << "sample " << sample;
        ++counts[source];
    }
    EXPECT_NEAR(200.0 / 3 + 75, static_cast<double>(counts[0]), 1);
    EXPECT_NEAR(100.0 / 3 + 75 + 350.0 / 6, static_cast<double>(counts[1]), 1);
}

TEST(TrainingOrder, ContinuesFromTheStateOfACheckpoint) {
    const TrainingOrder whole{changing_order()};
    for (const std::int64_t sample : {0, 1, 99, 100, 101, 250, 400}) {
        std::vector<std::int64_t> counts(3);
        whole.count(sample, counts);
        const auto state = reached(changing_order(), sample, counts);
        EXPECT_TRUE(has_valid_mix(state));
        const TrainingOrder rest{state};
        for (std::int64_t later = sample; later < sample + 300; ++later) {
            ASSERT_EQ(whole.window(later), rest.window(later)) << "sample " << later << " from " << sample;
            ASSERT_EQ(whole.positions(later), rest.positions(later));
        }
    }
}

TEST(TrainingOrder, BeginsWithTheWeightsOfItsFirstSample) {
    auto later = changing_order();
    begin_at(later, 100);
    EXPECT_EQ(1, later.sources[0].weight);
    EXPECT_EQ((std::vector<DataOrderState::Change>{{250, 0}}), later.sources[0].changes);
    EXPECT_EQ((std::vector<double>{0.5, 0.5, 0}), shares_at(later, 100));
    EXPECT_EQ((std::vector<std::int64_t>{250}), change_samples(later));
    shift_changes(later, 100, 30);
    EXPECT_EQ((std::vector<std::int64_t>{280}), change_samples(later));
    EXPECT_TRUE(has_valid_mix(later));
    later.sources[1].changes = {{280, 0}};
    later.sources[2].changes = {{280, 0}};
    EXPECT_FALSE(has_valid_mix(later)) << "no source has a weight";
}

TEST(TrainingOrder, SourcesKeepTheirPlaceUnderOtherWeights) {
    auto record = record_of(
        {{.weight = 1, .tokens = 801, .trained = 801}, {.weight = 1, .tokens = 801, .trained = 801}}, 8,
        true);
    std::vector<std::set<std::int64_t>> seen(2);
    const TrainingOrder before{record};
    for (std::int64_t sample = 0; sample < 40; ++sample) {
        const auto window = before.window(sample);
        seen[static_cast<std::size_t>(window.source)].insert(window.first_token);
    }
    record = going_on(record, 40);
    record.sources[1].weight = 3;
    const TrainingOrder after{record};
    // The rest of the first epochs: 99 windows each, of which 20 were trained.
    for (std::int64_t sample = 40; sample < 40 + 105; ++sample) {
        const auto window = after.window(sample);
        EXPECT_TRUE(seen[static_cast<std::size_t>(window.source)].insert(window.first_token).second)
            << "sample " << sample << " brings a window for the second time";
    }
    EXPECT_EQ(seen[0].size(), 20U + 26U);
    EXPECT_EQ(seen[1].size(), 99U) << "each of them once";
}

TEST(TrainingOrder, InTurnGoesOnAtTheSameTokenWithLongerSequences) {
    auto record = going_on(record_of({{.weight = 1, .tokens = 101, .trained = 101}}, 8, false), 5);
    EXPECT_EQ((SourcePosition{0, 40}), record.sources[0].begin);
    record.seq = 12;
    const TrainingOrder after{record};
    EXPECT_EQ((Window{0, 40}), after.window(5));
    EXPECT_EQ((Window{0, 88}), after.window(9));
    EXPECT_EQ((Window{0, 0}), after.window(10))
        << "its last token has no sequence of its own: the next epoch";
    EXPECT_EQ((SourcePosition{0, 52}), after.positions(6)[0]);
    EXPECT_EQ((SourcePosition{1, 0}), after.positions(10)[0]);
    EXPECT_EQ((SourcePosition{1, 12}), after.positions(11)[0]);
}

TEST(TrainingOrder, BeginsTheNextEpochWhereNothingIsLeft) {
    for (const bool is_shuffled : {false, true}) {
        auto record = record_of({{.weight = 1, .tokens = 200, .trained = 200}}, 8, is_shuffled);
        record.sources[0].begin = {3, 199};
        const TrainingOrder order{record};
        EXPECT_EQ(order.window(0).first_token, order.first_token(0, 4, 0));
        EXPECT_EQ((SourcePosition{4, 8}), order.positions(1)[0]);
    }
}

TEST(TrainingOrder, ShufflesASourceByItsStreamWhereverItStands) {
    auto record = record_of(
        {{.weight = 1, .tokens = 999, .trained = 999}, {.weight = 1, .tokens = 999, .trained = 999}}, 8,
        true);
    const TrainingOrder before{record};
    std::swap(record.sources[0], record.sources[1]);
    const TrainingOrder after{record};
    EXPECT_EQ(before.first_token(0, 2, 17), after.first_token(1, 2, 17));
    EXPECT_NE(before.first_token(0, 2, 17), after.first_token(0, 2, 17));
}

TEST(TrainingOrder, KnowsWhichTokensItHasPassed) {
    for (const bool is_shuffled : {false, true}) {
        const TrainingOrder order{record_of({{.weight = 1, .tokens = 300, .trained = 290}}, 8, is_shuffled)};
        std::set<std::int64_t> passed;
        for (std::int64_t sample = 0; sample < 30; ++sample) {
            const auto position = order.positions(sample)[0];
            for (std::int64_t token = 0; token < 290; ++token) {
                ASSERT_EQ(passed.contains(token), order.has_passed(0, token, position))
                    << "token " << token << " before sample " << sample;
            }
            for (std::int64_t i = 0; i < 8; ++i) {
                passed.insert(order.window(sample).first_token + i);
            }
        }
    }
}

}  // namespace
}  // namespace ziggurat::data
