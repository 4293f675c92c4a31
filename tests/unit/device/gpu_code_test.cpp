#include "device/gpu_code.hpp"

#include <gtest/gtest.h>

namespace ziggurat::device {
namespace {

TEST(GpuCode, MachineCodeRunsOnLaterMinorVersions) {
    EXPECT_TRUE(runs_on("80-real,90-real", 80));
    EXPECT_TRUE(runs_on("80-real,90-real", 89));
    EXPECT_TRUE(runs_on("80-real,90-real", 90));
    EXPECT_FALSE(runs_on("80-real,90-real", 75));
    EXPECT_FALSE(runs_on("80-real,90-real", 100));
    EXPECT_FALSE(runs_on("86-real", 80));
}

TEST(GpuCode, IntermediateCodeRunsOnAllLaterVersions) {
    EXPECT_TRUE(runs_on("80-real,90-virtual", 120));
    EXPECT_TRUE(runs_on("90", 100)) << "without a suffix it is both";
    EXPECT_FALSE(runs_on("90-virtual", 89));
}

TEST(GpuCode, FeaturesOfOneGpuBindToIt) {
    EXPECT_TRUE(runs_on("90a-real", 90));
    EXPECT_FALSE(runs_on("90a-real", 91));
    EXPECT_FALSE(runs_on("90a-virtual", 100));
}

TEST(GpuCode, IsDescribed) {
    EXPECT_EQ(describe_architectures("80-real,90-real,90-virtual"), "8.0 to 8.9, 9.0 to 9.9 and later");
    EXPECT_EQ(describe_architectures("90-real"), "9.0 to 9.9");
    EXPECT_EQ(describe_architectures("90a-real"), "9.0");
    EXPECT_EQ(describe_architectures("80-virtual"), "8.0 and later");
}

}  // namespace
}  // namespace ziggurat::device
