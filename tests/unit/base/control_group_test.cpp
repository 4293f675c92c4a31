#include "base/control_group.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/scratch_folder.hpp"

namespace ziggurat {
namespace {

TEST(RecentKills, AreThoseOfTheLastSeconds) {
    const test::ScratchFolder folder;
    const auto kill = [&](int number) {
        std::ofstream{folder.file("memory.events")} << "oom 7\noom_kill " << number << "\noom_group_kill 9\n";
    };
    kill(3);
    const MemoryGroup group{
        .granted_bytes = 1 << 20, .events_file = folder.file("memory.events"), .kills = 3};
    RecentKills kills{group};
    std::int64_t now_ns = 1'000'000'000'000;
    const auto pass = [&](int windows) {
        for (int i = 0; i < 10 * windows; ++i) {
            kills.refresh(now_ns += RecentKills::window_ns / 10);
        }
    };
    pass(2);
    EXPECT_FALSE(kills.has_killed());
    kill(4);
    EXPECT_TRUE(kills.has_killed());
    pass(1);
    EXPECT_TRUE(kills.has_killed()) << "a process takes a while to die";
    pass(2);
    EXPECT_FALSE(kills.has_killed()) << "that was somebody else, long before";
}

TEST(RecentKills, OfAGroupWithoutALimitBlameNobody) {
    EXPECT_FALSE(RecentKills(MemoryGroup{.events_file = "/proc/self/none", .kills = -1}).has_killed());
}

}  // namespace
}  // namespace ziggurat
