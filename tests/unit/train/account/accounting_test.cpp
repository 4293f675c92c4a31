#include "train/account/accounting.hpp"

#include <gtest/gtest.h>

#include "tests/support/counted_allocations.hpp"
#include "train/account/accounting_table.hpp"

namespace ziggurat::train {
namespace {

constexpr std::int64_t second = 1'000'000'000;

/// Returns two slow steps of 10 s, then `steps` of 1 s: 0.5 s forward, 0.25 s waiting.
TimeAccounting account_of(int steps, double wait_seconds = 0.25) {
    TimeAccounting account{1, 0};
    const int forward = account.activity("Forward");
    const int wait = account.activity("Wait for data");
    const int kernel = account.kernel("qkv", "forward");
    std::int64_t now = 0;
    for (int step = 0; step < steps + 2; ++step) {
        const double slowness = step < 2 ? 10 : 1;
        account.add(forward, 0.5 * slowness);
        account.add(wait, wait_seconds * slowness);
        account.add_kernel(kernel, 0.25 * slowness, 1e9, 4);
        now += static_cast<std::int64_t>(slowness) * second;
        account.end_step(1000, now);
    }
    return account;
}

TEST(TimeAccounting, LeavesTheFirstTwoStepsOut) {
    const AccountRecord record = account_of(4).record(24 * second);

    EXPECT_EQ(record.first_step, 3);
    EXPECT_EQ(record.last_step, 6);
    EXPECT_EQ(record.steps(), 4);
    EXPECT_EQ(record.tokens, 4000);
    EXPECT_EQ(record.excluded_steps, 2);
    EXPECT_DOUBLE_EQ(record.excluded_seconds, 20);
    EXPECT_DOUBLE_EQ(record.wall_seconds, 4);
    EXPECT_EQ(record.activities.at(0).calls, 4);
    EXPECT_DOUBLE_EQ(record.activities.at(0).seconds, 2);
    EXPECT_EQ(record.kernels.at(0).calls, 16);
    EXPECT_DOUBLE_EQ(record.kernels.at(0).flops, 4e9);
}

TEST(TimeAccounting, CountsEverythingWhenThereIsNothingElse) {
    const AccountRecord record = account_of(0).record(20 * second);

    EXPECT_EQ(record.first_step, 1);
    EXPECT_EQ(record.last_step, 2);
    EXPECT_EQ(record.excluded_steps, 0);
    EXPECT_DOUBLE_EQ(record.wall_seconds, 20);
    EXPECT_EQ(record.tokens, 2000);
}

TEST(TimeAccounting, NoStepIsNoStep) {
    const AccountRecord record = TimeAccounting{1, 0}.record(second);
    EXPECT_EQ(record.steps(), 0);
    EXPECT_NE(account_table(std::vector{record}, 0).find("no completed step"), std::string::npos);
}

TEST(TimeAccounting, GivesTheSameHandleForTheSameName) {
    TimeAccounting account;
    const int forward = account.activity("Forward");
    EXPECT_NE(account.activity("Backward"), forward);
    EXPECT_EQ(account.activity("Forward"), forward);
    EXPECT_NE(account.kernel("qkv", "backward"), account.kernel("qkv", "forward"));
}

TEST(TimeAccounting, KeepsActivitiesThatAppearLate) {
    TimeAccounting account = account_of(2);
    account.add(account.activity("Validation"), 3.0);

    const AccountRecord record = account.record(25 * second);
    ASSERT_EQ(record.activities.size(), 3U);
    EXPECT_DOUBLE_EQ(record.activities[2].seconds, 3.0);
}

TEST(TimeAccounting, DoesNotAllocateAfterTheExcludedSteps) {
    TimeAccounting account = account_of(2);
    const int forward = account.activity("Forward");
    const test::CountedAllocations counted;
    for (int i = 0; i < 100; ++i) {
        account.add(forward, 1);
        account.add_kernel(0, 1, 1);
        account.end_step(1);
    }
    EXPECT_EQ(counted.allocations(), 0);
}

TEST(GatherRecords, BringsEveryRankHome) {
    AccountRecord record = account_of(4).record(24 * second);
    record.activities[0].seconds = 1.0 / 3;
    record.memory = {.reserved = {1, 2, 3},
                     .resident = {4, 5, 6},
                     .process_start = 7,
                     .process_step = 8,
                     .process_peak = 9};
    record.links.push_back({.link = "nvme_read", .moved_bytes = 8, .skipped_bytes = 9, .redone_bytes = 10});
    const std::vector<AccountRecord> records = gather_records(record, [](const std::string& mine) {
        return std::vector{mine, mine};
    });

    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(records[1].activities[0].seconds, 1.0 / 3);
    EXPECT_EQ(records[1].activities[1].name, "Wait for data");
    EXPECT_EQ(records[1].kernels[0].direction, "forward");
    EXPECT_EQ(records[1].kernels[0].calls, 16);
    EXPECT_EQ(records[1].last_step, 6);
    EXPECT_EQ(records[1].tokens, 4000);
    EXPECT_EQ(records[1].excluded_seconds, 20);
    EXPECT_EQ(records[1].memory.reserved, (spec::ByTier<std::int64_t>{1, 2, 3}));
    EXPECT_EQ(records[1].memory.resident, (spec::ByTier<std::int64_t>{4, 5, 6}));
    EXPECT_EQ(records[1].memory.process_start, 7);
    EXPECT_EQ(records[1].memory.process_step, 8);
    EXPECT_EQ(records[1].memory.process_peak, 9);
    EXPECT_EQ(records[1].links[0].moved_bytes, 8);
    EXPECT_EQ(records[1].links[0].skipped_bytes, 9);
    EXPECT_EQ(records[1].links[0].redone_bytes, 10);
}

TEST(AccountTable, HasMinimumMeanMaximumRestAndTotal) {
    const std::vector ranks{account_of(4, 0.25).record(24 * second), account_of(4, 0.5).record(24 * second)};

    EXPECT_EQ(account_table(ranks, 6e6),
              R"(R U N   T I M E   A C C O U N T I N G      2 ranks, steps 3 to 6, 4.00 s

 Activity                               calls      min s     mean s      max s  (rank)        %
 -----------------------------------------------------------------------------------------------
 Forward                                    4      2.000      2.000      2.000     (0)     50.0
 Wait for data                              4      1.000      1.500      2.000     (1)     37.5
 Rest                                                         0.500                        12.5
 -----------------------------------------------------------------------------------------------
 Total                                                        4.000                       100.0

 Kernel                            direction             calls     ms/step         %     GFLOP/s
 -----------------------------------------------------------------------------------------------
 qkv                               forward                  16     250.000      25.0         4.0
 -----------------------------------------------------------------------------------------------

 Performance: 1.00k tok/s in steps, 1.00k tok/s wall-clock   86.40M tok/day   6.00 GFLOP/s (6.00 MFLOP per token)
 Excluded: start-up and the first 2 steps (20.0 s), which touch memory and load code for the first time
 NOTE 1  rank 1 spends 33% more than the mean in 'Wait for data' (2.00 s of 4.00 s). Check its cores and its share of the work
)");
}

TEST(AccountTable, HasThePlannedStepNextToTheMeasuredOne) {
    const std::vector ranks{account_of(4, 0.25).record(24 * second), account_of(4, 0.5).record(24 * second)};
    const PlannedStep planned{.seconds = 0.8, .bound_seconds = 0.5, .skip_reason = {}};
    const PlannedStep skipped{.seconds = 0, .bound_seconds = 0, .skip_reason = "not planned: large"};

    EXPECT_NE(account_table(ranks, 6e6, nullptr, 0, &planned)
                  .find(" Planned: a step of 800 ms; measured 1.00 s, 1.25 times the plan; busiest lane of "
                        "the plan "
                        "500 ms, 50% of the step\n"),
              std::string::npos)
        << account_table(ranks, 6e6, nullptr, 0, &planned);
    EXPECT_NE(account_table(ranks, 6e6, nullptr, 0, &skipped).find(" Planned: not planned: large\n"),
              std::string::npos);
    EXPECT_EQ(account_table(ranks, 6e6).find("Planned"), std::string::npos);
}

TEST(AccountTable, EndsWithThePracticalityOfStateAwayFromTheDevice) {
    auto record = account_of(4, 0.25).record(24 * second);
    record.activities.push_back({.name = "Wait for NVMe reads", .calls = 4, .seconds = 1});
    record.activities.push_back({.name = "Wait for host optimizer", .calls = 4, .seconds = 0.5});
    PlannedStep planned{.seconds = 0.8, .bound_seconds = 0.5, .on_device_seconds = 0.6, .skip_reason = {}};
    const auto table = account_table(std::vector{record}, 6e6, nullptr, 0, &planned);

    EXPECT_TRUE(
        table.ends_with(" Practicality: 0.60 (a step with all state on the device is planned to take 600 "
                        "ms); most time is lost in 'Wait for NVMe reads': 25% of the step\n"))
        << table;
    planned.on_device_seconds = 0;
    EXPECT_EQ(account_table(std::vector{record}, 6e6, nullptr, 0, &planned).find("Practicality"),
              std::string::npos);
}

TEST(AccountTable, FoldsRowsThatAreHardlyThere) {
    AccountRecord record = account_of(4).record(24 * second);
    record.activities.push_back({.name = "Loss", .calls = 4, .seconds = 0.003});
    EXPECT_NE(account_table(std::vector{record}, 0).find(" Loss "), std::string::npos)
        << "one is left as it is";
    record.activities.push_back({.name = "Logging", .calls = 4, .seconds = 0.001});
    const auto table = account_table(std::vector{record}, 0);
    EXPECT_EQ(table.find(" Loss "), std::string::npos) << table;
    EXPECT_NE(table.find(" 2 more, each below 0.1%                                      0.004"),
              std::string::npos)
        << table;
}

TEST(AccountTable, LeavesValidationOutOfTheSpeedOfSteps) {
    TimeAccounting account = account_of(4);
    account.add(account.activity("Validation", Part::between_steps), 4.0);
    const std::vector<AccountRecord> records = gather_records(
        account.record(28 * second), [](const std::string& mine) { return std::vector{mine}; });

    const std::string table = account_table(records, 0);
    EXPECT_NE(table.find("Performance: 1.00k tok/s in steps, 500 tok/s wall-clock"), std::string::npos)
        << table;
}

TEST(AccountTable, CountsARankWithoutAnActivityAsZero) {
    AccountRecord first = account_of(4).record(24 * second);
    const AccountRecord second_rank = first;
    first.activities.push_back({.name = "Loss", .calls = 4, .seconds = 1.0});

    const std::string table = account_table(std::vector{second_rank, first}, 0);
    EXPECT_NE(
        table.find("Loss                                       4      0.000      0.500      1.000     (1)"),
        std::string::npos)
        << table;
    EXPECT_EQ(table.find("FLOP/s ("), std::string::npos) << "without a FLOP count there is no rate";
}

TEST(AccountTable, SaysWhenNothingCouldBeLeftOut) {
    const std::string table = account_table(std::vector{account_of(0).record(20 * second)}, 0);
    EXPECT_NE(table.find("Includes the first steps"), std::string::npos) << table;
}

}  // namespace
}  // namespace ziggurat::train
