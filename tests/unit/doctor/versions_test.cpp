#include "doctor/versions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ziggurat::doctor {
namespace {

using testing::HasSubstr;

TEST(Library, IsOfTheMinorVersionOfItsHeaders) {
    EXPECT_EQ(diagnose_library({"HDF5", "1.10.8", "1.10.5"}).health, Health::ok);
    EXPECT_EQ(diagnose_library({"HDF5", "1.10.8", "1.10.5"}).found, "1.10.5, built with 1.10.8");
    EXPECT_EQ(diagnose_library({"HDF5", "1.10.8", "1.12.8"}).health, Health::error);
    EXPECT_EQ(diagnose_library({"HDF5", "1.10.8", "1.1.8"}).health, Health::error);
    EXPECT_EQ(diagnose_library({"HDF5", "1.10.8", "unknown"}).health, Health::error);
}

TEST(Devices, ThatAreThereAndDoNotWorkAreAnErrorOfABuildForThem) {
    EXPECT_EQ(diagnose_devices(true, 4, "", true).found, "4 GPUs can be used");
    EXPECT_EQ(diagnose_devices(false, 0, "", false).health, Health::ok);
    EXPECT_EQ(diagnose_devices(true, 0, "no driver", false).health, Health::ok);
    EXPECT_EQ(diagnose_devices(false, 0, "this build has no GPU support", true).health, Health::warning);
    const auto broken = diagnose_devices(true, 0, "the driver is too old", true);
    EXPECT_EQ(broken.health, Health::error);
    EXPECT_THAT(broken.found, HasSubstr("(the driver is too old)"));
}

}  // namespace
}  // namespace ziggurat::doctor
