#include "train/account/trace.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "tests/support/counted_allocations.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

using Json = nlohmann::json;

TEST(Trace, IsValidJsonWithANameForEachLane) {
    Trace trace{3, {"compute", "collective[data]"}, 2};
    trace.begin_step(7);
    trace.add({.name = "layer 0 \"qkv\"", .lane = 0, .begin_ns = 1'234'567, .end_ns = 2'234'568});
    trace.add({.name = "wait", .lane = 0, .begin_ns = 2'234'568, .end_ns = 3'000'000, .cause = "all_reduce"});

    const Json events = Json::parse(trace.json()).at("traceEvents");

    ASSERT_EQ(events.size(), 5U);
    EXPECT_EQ(events[0].at("args").at("name"), "rank 3");
    EXPECT_EQ(events[2].at("args").at("name"), "collective[data]");
    EXPECT_EQ(events[2].at("tid"), 1);
    EXPECT_EQ(events[3].at("name"), "layer 0 \"qkv\"");
    EXPECT_EQ(events[3].at("ph"), "X");
    EXPECT_EQ(events[3].at("pid"), 3);
    EXPECT_DOUBLE_EQ(events[3].at("ts"), 1234.567);
    EXPECT_DOUBLE_EQ(events[3].at("dur"), 1000.001);
    EXPECT_EQ(events[3].at("args").at("step"), 7);
    EXPECT_EQ(events[3].at("cat"), "work");
    EXPECT_EQ(events[4].at("cat"), "wait");
    EXPECT_EQ(events[4].at("args").at("cause"), "all_reduce");
}

TEST(Trace, PutsWhatIsUnderWayAtOneTimeInRowsOfItsOwn) {
    Trace trace{0, {"compute", "nvme_read"}, 1};
    trace.begin_step(1);
    trace.add({.name = "first", .lane = 1, .begin_ns = 0, .end_ns = 10, .bytes = 4096});
    trace.add({.name = "beside", .lane = 1, .begin_ns = 5, .end_ns = 15});
    trace.add({.name = "next", .lane = 1, .begin_ns = 10, .end_ns = 20});

    const Json events = Json::parse(trace.json()).at("traceEvents");

    ASSERT_EQ(events.size(), 7U);
    EXPECT_EQ(events[3].at("args").at("bytes"), 4096);
    EXPECT_EQ(events[3].at("tid"), 1);
    EXPECT_EQ(events[4].at("tid"), 1001);
    EXPECT_EQ(events[5].at("tid"), 1);
    EXPECT_EQ(events[6].at("args").at("name"), "nvme_read (concurrent)");
}

TEST(Trace, IsValidJsonWhenEmpty) {
    EXPECT_EQ(Json::parse(Trace(0, {}, 1).json()).at("traceEvents").size(), 1U);
}

TEST(Trace, KeepsTheLastStepsInTheirOrder) {
    Trace trace{0, {"compute"}, 3};
    for (int step = 1; step <= 10; ++step) {
        trace.begin_step(step);
        trace.add({.name = "op", .lane = 0, .begin_ns = step, .end_ns = step + 1});
    }

    const Json events = Json::parse(trace.json()).at("traceEvents");
    ASSERT_EQ(events.size(), 2U + 3U);
    EXPECT_EQ(events[2].at("args").at("step"), 8);
    EXPECT_EQ(events[4].at("args").at("step"), 10);
}

TEST(Trace, DoesNotAllocateOnceItsStepsAreFull) {
    Trace trace{0, {"compute"}, 3};
    const auto run_step = [&](int step) {
        trace.begin_step(step);
        for (int op = 0; op < 100; ++op) {
            trace.add({.name = "op", .lane = 0, .begin_ns = op, .end_ns = op + 1});
        }
    };
    for (int step = 0; step < 3; ++step) {
        run_step(step);
    }
    const test::CountedAllocations counted;
    for (int step = 3; step < 20; ++step) {
        run_step(step);
    }
    EXPECT_EQ(counted.allocations(), 0);
}

TEST(Trace, SharesAFileWithOtherProcesses) {
    Trace measured{0, {"compute"}, 1};
    Trace planned{{1'000'000, "plan of rank 0"}, {"compute"}, 1};
    planned.begin_step(3);
    planned.add({.name = "op", .lane = 0, .begin_ns = -5, .end_ns = 1});

    const auto events = std::vector{measured.events(), planned.events()};
    const Json all = Json::parse(trace_text(events)).at("traceEvents");

    ASSERT_EQ(all.size(), 5U);
    EXPECT_EQ(all[0].at("args").at("name"), "rank 0");
    EXPECT_EQ(all[2].at("args").at("name"), "plan of rank 0");
    EXPECT_EQ(all[4].at("pid"), 1'000'000);
    EXPECT_DOUBLE_EQ(all[4].at("ts"), -0.005) << "ops may run ahead of their step";
}

TEST(Trace, IsWrittenToAFile) {
    const test::ScratchFolder folder;
    Trace trace{12, {"compute"}, 1};
    trace.write(folder.file(trace_file_name(12)));
    EXPECT_EQ(test::contents_of(folder.file("trace.rank0012.json")), trace.json());
    EXPECT_THROW(trace.write("/dev/full"), Error);
}

}  // namespace
}  // namespace ziggurat::train
