/// Host memory: placement, initial contents, sharing, and release.
#include "device/arena.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ziggurat::device {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

std::span<const std::byte> all_of(const Arena& arena) {
    return {arena.data(), static_cast<std::size_t>(arena.bytes())};
}

bool is_zero(std::span<const std::byte> bytes) {
    return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

/// Returns the address space of this process in bytes.
std::int64_t mapped_bytes() {
    std::int64_t pages = 0;
    std::ifstream{"/proc/self/statm"} >> pages;
    return pages * sysconf(_SC_PAGESIZE);
}

class ArenaOfTheHost : public ::testing::TestWithParam<Arena::Kind> {};

TEST_P(ArenaOfTheHost, IsZeroAndLiesAtWholeHugePages) {
    std::vector<Arena> arenas;
    for (const std::int64_t bytes : {std::int64_t{1}, 2 * mebibyte, 3 * mebibyte, 17 * mebibyte}) {
        const auto& arena = arenas.emplace_back(bytes, "a test's arena", GetParam());
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.data()) % (2 * mebibyte), 0) << bytes;
        EXPECT_EQ(arena.bytes() % (2 * mebibyte), 0) << bytes;
        EXPECT_GE(arena.bytes(), bytes);
        EXPECT_LT(arena.bytes(), bytes + 2 * mebibyte);
        EXPECT_EQ(arena.host_view(), arena.data());
        EXPECT_TRUE(is_zero(all_of(arena))) << bytes;
        arena.data()[arena.bytes() - 1] = std::byte{1};
    }
}

TEST_P(ArenaOfTheHost, LeavesNoAddressesBesideItNorBehindIt) {
    const auto before = mapped_bytes();
    {
        std::vector<Arena> arenas;
        for (int i = 0; i < 16; ++i) {
            arenas.emplace_back(3 * mebibyte, "a test's arena", GetParam());
        }
        EXPECT_LT(mapped_bytes() - before, 16 * 4 * mebibyte + 4 * mebibyte);
    }
    EXPECT_LT(mapped_bytes() - before, 4 * mebibyte);
}

TEST_P(ArenaOfTheHost, MovesWithoutItsMemory) {
    Arena first{mebibyte, "a test's arena", GetParam()};
    auto* const data = first.data();
    const auto descriptor = first.descriptor();
    data[3] = std::byte{7};

    Arena second{std::move(first)};
    Arena third{0, "nothing"};
    third = std::move(second);

    EXPECT_EQ(third.data(), data);
    EXPECT_EQ(third.descriptor(), descriptor);
    EXPECT_EQ(third.data()[3], std::byte{7});
}

TEST_P(ArenaOfTheHost, IsNothingWhenItIsEmpty) {
    const Arena arena{0, "nothing", GetParam()};
    EXPECT_EQ(arena.data(), nullptr);
    EXPECT_EQ(arena.host_view(), nullptr);
    EXPECT_EQ(arena.bytes(), 0);
    EXPECT_EQ(arena.descriptor(), -1);
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         ArenaOfTheHost,
                         ::testing::Values(Arena::Kind::own, Arena::Kind::shared),
                         [](const auto& made) {
                             return std::string{made.param == Arena::Kind::own ? "own" : "shared"};
                         });

TEST(SharedArena, IsMappedByItsDescriptorAndOutlivesIt) {
    void* mapped = MAP_FAILED;
    {
        Arena arena{17 * mebibyte, "a test's arena", Arena::Kind::shared};
        mapped = mmap(nullptr, mebibyte, PROT_READ, MAP_SHARED, arena.descriptor(), 0);
        ASSERT_NE(mapped, MAP_FAILED);
        arena.data()[5] = std::byte{9};
    }
    EXPECT_EQ(static_cast<const std::byte*>(mapped)[5], std::byte{9});
    munmap(mapped, mebibyte);
    EXPECT_EQ((Arena{mebibyte, "a test's arena"}.descriptor()), -1);
}

}  // namespace
}  // namespace ziggurat::device
