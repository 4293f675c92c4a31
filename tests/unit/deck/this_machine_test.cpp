/// Description of the machine that runs the program.
#include <gtest/gtest.h>

#include "deck/machine/machine.hpp"

namespace ziggurat::deck {
namespace {

TEST(ThisMachine, HasTheDevicesThatWereDiscovered) {
    constexpr std::int64_t device_bytes = std::int64_t{80} << 30;
    const auto machine = this_machine({.count = 4, .bytes = device_bytes});
    EXPECT_TRUE(machine.has_device);
    EXPECT_EQ(machine.device_bytes, device_bytes);
    EXPECT_FALSE(this_machine({}).has_device);
}

TEST(ThisMachine, HasCoresAndMemory) {
    EXPECT_GT(this_machine().cores_per_node, 0);
    EXPECT_GT(this_machine().host_bytes, 0);
}

}  // namespace
}  // namespace ziggurat::deck
