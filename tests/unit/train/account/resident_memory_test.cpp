#include "train/account/resident_memory.hpp"

#include <gtest/gtest.h>

#include "device/arena.hpp"

namespace ziggurat::train {
namespace {

constexpr std::int64_t size = std::int64_t{64} << 20;
constexpr std::int64_t tolerance = std::int64_t{8} << 20;

#ifdef __SANITIZE_THREAD__
constexpr const char* obstacle = "the thread sanitizer's own memory grows with what is touched";
#else
constexpr const char* obstacle = nullptr;
#endif

void touch(const device::Arena& arena) {
    for (std::int64_t i = 0; i < arena.bytes(); i += 4096) {
        arena.data()[i] = std::byte{1};
    }
}

TEST(ResidentMemory, CountsWhatIsItsOwn) {
    if (obstacle != nullptr) {
        GTEST_SKIP() << obstacle;
    }
    const ResidentMemory memory;
    const auto before = memory.own_bytes();
    const device::Arena arena{size, "a test"};
    touch(arena);

    EXPECT_NEAR(static_cast<double>(memory.own_bytes() - before), static_cast<double>(size),
                static_cast<double>(tolerance));
}

TEST(ResidentMemory, KnowsThePeakAfterItsMemoryIsFreed) {
    if (obstacle != nullptr) {
        GTEST_SKIP() << obstacle;
    }
    const ResidentMemory memory;
    const auto before = memory.own_bytes();
    {
        const device::Arena arena{size, "a test"};
        touch(arena);
        const device::Arena shared{size, "a test", device::Arena::Kind::shared};
    }
    EXPECT_LT(memory.own_bytes(), before + size / 2);
    EXPECT_GE(memory.own_peak_bytes(), before + size - tolerance);
}

TEST(ResidentMemory, DoesNotCountWhatOthersMayMap) {
    if (obstacle != nullptr) {
        GTEST_SKIP() << obstacle;
    }
    const ResidentMemory memory;
    const auto before = memory.own_bytes();
    const device::Arena arena{size, "a test", device::Arena::Kind::shared};
    touch(arena);

    EXPECT_NEAR(static_cast<double>(memory.own_bytes()), static_cast<double>(before),
                static_cast<double>(tolerance));
}

}  // namespace
}  // namespace ziggurat::train
