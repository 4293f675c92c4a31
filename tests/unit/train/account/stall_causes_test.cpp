#include "train/account/stall_causes.hpp"

#include <gtest/gtest.h>

#include "tests/support/counted_allocations.hpp"
#include "train/account/accounting_traffic.hpp"

namespace ziggurat::train {
namespace {

std::string_view named(const StepReport& report, Stall lane) {
    return report.stall_cause[static_cast<std::size_t>(lane)];
}

TEST(StallCauses, NamesTheLongestWaitOfTheStepOnEachLane) {
    StallCauses causes;
    const int gather = causes.cause(Stall::collective, "gather");
    const int reduction = causes.cause(Stall::collective, "reduction");
    const int read = causes.cause(Stall::nvme_read, "read");
    EXPECT_EQ(causes.cause(Stall::collective, "gather"), gather);
    EXPECT_NE(causes.cause(Stall::channel, "gather"), gather);

    causes.begin_step();
    causes.add(gather, 2);
    causes.add(reduction, 1.5);
    causes.add(reduction, 1);
    StepReport first;
    causes.name_in(first);
    EXPECT_EQ(named(first, Stall::collective), "reduction");
    EXPECT_EQ(named(first, Stall::nvme_read), "");

    causes.begin_step();
    causes.add(read, 0.5);
    causes.add(gather, 0.1);
    StepReport second;
    causes.name_in(second);
    EXPECT_EQ(named(second, Stall::collective), "gather") << "the step before is forgotten";
    EXPECT_EQ(named(second, Stall::nvme_read), "read");
}

TEST(StallCauses, LeavesTheFirstTwoStepsOutAndSortsTheRest) {
    StallCauses causes;
    const int gather = causes.cause(Stall::collective, "gather");
    const int reduction = causes.cause(Stall::collective, "reduction");
    const int once = causes.cause(Stall::collective, "once");
    for (int step = 0; step < 4; ++step) {
        causes.begin_step();
        causes.add(gather, step < 2 ? 100 : 1);
        causes.add(reduction, 2);
        if (step == 0) {
            causes.add(once, 1000);
        }
    }

    const auto longest = causes.longest(2);
    ASSERT_EQ(longest.size(), 2U);
    EXPECT_EQ(longest[0].name, "reduction");
    EXPECT_EQ(longest[0].lane, "collective");
    EXPECT_DOUBLE_EQ(longest[0].seconds, 4);
    EXPECT_EQ(longest[0].calls, 2);
    EXPECT_EQ(longest[1].name, "gather");
    EXPECT_DOUBLE_EQ(longest[1].seconds, 2);
    EXPECT_EQ(causes.longest(1).size(), 1U);
}

TEST(StallCauses, AddsWithoutAllocating) {
    StallCauses causes;
    const int gather = causes.cause(Stall::collective, "gather");
    const test::CountedAllocations counted;
    for (int step = 0; step < 5; ++step) {
        causes.begin_step();
        causes.add(gather, 1);
        StepReport report;
        causes.name_in(report);
    }
    EXPECT_EQ(counted.allocations(), 0);
}

TEST(StallCauseTable, ShowsTheRankThatWaitedLongest) {
    AccountRecord first;
    first.first_step = 3;
    first.last_step = 4;
    AccountRecord second = first;
    first.stall_causes = {{"collective", "gather", 1, 0.010}, {"nvme_read", "read", 1, 0.001}};
    second.stall_causes = {{"collective", "reduction", 1, 0.030}, {"collective", "gather", 1, 0.020}};

    EXPECT_EQ(stall_cause_table(std::vector{first, second}), R"(
 Longest waits for                                            lane               ms/step  (rank)
 -----------------------------------------------------------------------------------------------
 reduction                                                    collective          15.000     (1)
 gather                                                       collective          10.000     (1)
 read                                                         nvme_read            0.500     (0)
 -----------------------------------------------------------------------------------------------
)");
    EXPECT_EQ(stall_cause_table(std::vector{AccountRecord{}}), "");
}

}  // namespace
}  // namespace ziggurat::train
