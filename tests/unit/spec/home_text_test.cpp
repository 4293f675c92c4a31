#include "spec/home_text.hpp"

#include <gtest/gtest.h>

namespace ziggurat::spec {
namespace {

TEST(WriteHome, IsATierOrItsShares) {
    EXPECT_EQ(write_home({1, 0, 0}), "device");
    EXPECT_EQ(write_home({0, 1, 0}), "host");
    EXPECT_EQ(write_home({0, 0, 1}), "nvme");
    EXPECT_EQ(write_home({0.125, 0.875, 0}), "{device: 12.5%, host: rest}");
    EXPECT_EQ(write_home({0.05, 0.55, 0.4}), "{device: 5%, host: 55%, nvme: rest}");
    EXPECT_EQ(write_home({0, 0.333333, 0.666667}), "{host: 33.3333%, nvme: rest}");
    EXPECT_EQ(write_home({0.000001, 0, 0.999999}), "{device: 0.0001%, nvme: rest}");
}

TEST(FindTier, KnowsTheNamesOfTiers) {
    EXPECT_EQ(find_tier("device"), Tier::device);
    EXPECT_EQ(find_tier("nvme"), Tier::nvme);
    EXPECT_EQ(find_tier("disk"), std::nullopt);
}

}  // namespace
}  // namespace ziggurat::spec
