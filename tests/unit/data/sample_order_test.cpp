#include "data/sample_order.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

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
    // The first source is small and heavy: it goes through many epochs during one of the other.
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

}  // namespace
}  // namespace ziggurat::data
