/// Assignment of devices to ranks, among those that launchers make visible.
#include "device/spread_ranks.hpp"

#include <gtest/gtest.h>

namespace ziggurat::device {
namespace {

using Devices = std::vector<RankDevice>;

TEST(SpreadRanks, TakesOneAfterTheOtherOnEachHost) {
    const std::vector<std::string> two{"a", "b"};
    EXPECT_EQ(spread_ranks({{"n0", two}, {"n0", two}, {"n1", two}, {"n1", two}}),
              (Devices{{0, 1}, {1, 1}, {0, 1}, {1, 1}}));
}

TEST(SpreadRanks, SharesWhereThereAreMoreRanks) {
    const std::vector<std::string> two{"a", "b"};
    EXPECT_EQ(spread_ranks({{"n0", two}, {"n0", two}, {"n0", two}}), (Devices{{0, 2}, {1, 1}, {0, 2}}));
    // Equal names on another host are other devices.
    EXPECT_EQ(spread_ranks({{"n0", {"a"}}, {"n1", {"a"}}}), (Devices{{0, 1}, {0, 1}}));
}

TEST(SpreadRanks, TakesWhatALauncherHasLeft) {
    EXPECT_EQ(spread_ranks({{"n0", {"a"}}, {"n0", {"b"}}, {"n0", {"b"}}}), (Devices{{0, 1}, {0, 2}, {0, 2}}));
    EXPECT_EQ(spread_ranks({{"n0", {"b", "a"}}, {"n0", {"a", "b"}}}), (Devices{{0, 1}, {0, 1}}));
}

}  // namespace
}  // namespace ziggurat::device
