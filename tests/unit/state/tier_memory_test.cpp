/// The tiers of a rank, on a device whose memory the host must not access.
#include "state/tier_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "device/emulated/emulated_device.hpp"

namespace ziggurat::state {
namespace {

constexpr std::int64_t bytes_of_buffer = 8192;

/// Returns a program with a buffer in each tier of memory.
schedule::Program small_program() {
    schedule::Program program;
    for (const auto tier : {spec::Tier::device, spec::Tier::host}) {
        program.buffers.push_back({.name = tier == spec::Tier::device ? "on the device" : "on the host",
                                   .tier = tier,
                                   .bytes = bytes_of_buffer,
                                   .lifetime = schedule::Lifetime::persistent,
                                   .offset = 4096});
        program.arena_bytes[static_cast<std::size_t>(tier)] = 4096 + bytes_of_buffer;
    }
    return program;
}

std::vector<std::byte> ramp(std::size_t size, int first) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::byte>(first + static_cast<int>(i));
    }
    return bytes;
}

class TierMemoryTest : public ::testing::Test {
  protected:
    device::HostThread thread;
    device::EmulatedDevice device{{.mode = device::EmulatedDevice::Mode::threads, .thread = &thread}};
    schedule::Program program = small_program();
    TierMemory memory{{&program}, 1, device};
    const schedule::Buffer& on_device = program.buffers[0];
    const schedule::Buffer& on_host = program.buffers[1];
};

TEST_F(TierMemoryTest, ReadsAndWritesEachTierThatNobodyElseMayTouch) {
    for (const auto* buffer : {&on_device, &on_host}) {
        const auto written = ramp(100, 3);
        memory.write(*buffer, 16, written);
        std::vector<std::byte> read(100);
        memory.read(*buffer, 16, read);
        EXPECT_EQ(read, written) << buffer->name;
        memory.read(*buffer, 116, read);
        EXPECT_EQ(read, std::vector<std::byte>(100)) << buffer->name << ": behind what was written";
    }
}

TEST_F(TierMemoryTest, IsUsedInPlaceByHostThreadsWhereAnAddressIsTheirs) {
    EXPECT_EQ(memory.in_place(on_device), nullptr);
    EXPECT_EQ(memory.in_place(on_host), memory.at(on_host));
    EXPECT_EQ(std::ssize(memory.span<float>(on_host)), bytes_of_buffer / 4);
    EXPECT_THROW(memory.span<float>(on_device), Error);

    const auto host = device::make_host(1);
    const TierMemory of_host{{&program}, 1, *host};
    EXPECT_EQ(of_host.in_place(on_device), of_host.at(on_device));
    EXPECT_EQ(of_host.in_place({.name = "on disk", .tier = spec::Tier::nvme}), nullptr);
}

TEST_F(TierMemoryTest, ReadsAndWritesMoreThanIsCopiedAtOnce) {
    constexpr std::int64_t large = (std::int64_t{5} << 20) + 3;
    program.buffers[0].bytes = large;
    program.arena_bytes[0] = large;
    const TierMemory larger{{&program}, 1, device};
    const auto written = ramp(large - 1, 7);
    larger.write(on_device, 1, written);
    std::vector<std::byte> read(large - 1);
    larger.read(on_device, 1, read);
    EXPECT_TRUE(read == written);
}

/// Reads as by a writer of checkpoints, concurrently with the training thread.
TEST_F(TierMemoryTest, CountsThePagesThatAreTouched) {
    constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
    auto large = small_program();
    large.buffers[1].bytes = 64 * mebibyte;
    large.arena_bytes[static_cast<std::size_t>(spec::Tier::host)] = 4096 + 64 * mebibyte;
    const TierMemory tiers{{&large}, 1, device};
    const auto before = tiers.resident_bytes(spec::Tier::host);
    EXPECT_LE(before, 4 * mebibyte);

    tiers.write(large.buffers[1], 0, std::vector<std::byte>(32 * mebibyte));
    const auto half = tiers.resident_bytes(spec::Tier::host);
    EXPECT_GE(half, 32 * mebibyte);
    EXPECT_LE(half, 36 * mebibyte) << "pages of 2 MiB at both ends";
    tiers.write(large.buffers[1], 32 * mebibyte, std::vector<std::byte>(32 * mebibyte));
    EXPECT_GE(tiers.resident_bytes(spec::Tier::host), 64 * mebibyte);
    EXPECT_LE(tiers.resident_bytes(spec::Tier::host), tiers.bytes(spec::Tier::host));
    EXPECT_EQ(tiers.resident_bytes(spec::Tier::device), tiers.bytes(spec::Tier::device))
        << "memory that host threads cannot access is reserved whole";
}

TEST_F(TierMemoryTest, IsReadByTwoThreadsAtOnce) {
    memory.write(on_device, 0, ramp(bytes_of_buffer, 0));
    std::vector<int> wrong(2);
    std::vector<std::thread> readers;
    readers.reserve(2);
    for (int reader = 0; reader < 2; ++reader) {
        readers.emplace_back([&, reader] {
            for (std::int64_t at = 0; at < bytes_of_buffer; at += 512) {
                std::vector<std::byte> read(512);
                memory.read(on_device, at, read);
                wrong[static_cast<std::size_t>(reader)] += read == ramp(512, static_cast<int>(at)) ? 0 : 1;
            }
        });
    }
    std::ranges::for_each(readers, &std::thread::join);
    EXPECT_EQ(wrong, std::vector<int>(2));
}

TEST_F(TierMemoryTest, HasTheArenasOfADeviceThatPeersMap) {
    program.buffers[0].is_shared = true;
    program.arena_bytes[3] = program.arena_bytes[0];
    const TierMemory shared{{&program}, 2, device};
    EXPECT_GE(shared.shared().front().descriptor(), 0);
    EXPECT_TRUE(shared.shared().front().is_staged());
    const auto host = device::make_host(1);
    const TierMemory of_host{{&program}, 2, *host};
    EXPECT_FALSE(of_host.shared().front().is_staged());
    EXPECT_EQ(of_host.shared().front().staging(), of_host.shared().front().data());
}

}  // namespace
}  // namespace ziggurat::state
