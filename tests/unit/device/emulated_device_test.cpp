/// A device with delayed streams, whose memory the host must not access.
#include "device/emulated/emulated_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "device/async_queue.hpp"
#include "device/copy.hpp"
#include "device/event.hpp"

namespace ziggurat::device {
namespace {

using Mode = EmulatedDevice::Mode;

/// A device in the mode of a test's parameter, and a second stream.
class EmulatedDeviceTest : public ::testing::TestWithParam<Mode> {
  protected:
    EmulatedDevice::Options options(std::uint64_t seed) {
        return {.mode = GetParam(),
                .seed = seed,
                .num_threads = 1,
                .thread = GetParam() == Mode::threads ? &thread : nullptr};
    }
    static AsyncQueue& queue_of(const Stream& stream) { return dynamic_cast<AsyncQueue&>(stream.queue()); }
    static void run(const Stream& stream, std::function<void()> work) {
        queue_of(stream).run(std::move(work));
    }
    static void wait(const Event& event) {
        while (!event.is_done()) {
            std::this_thread::yield();
        }
    }

    HostThread thread;
    EmulatedDevice device{options(7)};
    Stream stream = device.make_stream();
    Stream other = device.make_stream();
    Arena arena = device.reserve(4096, "a test's arena", Arena::Kind::own);
};

TEST_P(EmulatedDeviceTest, DoesTheWorkOfAStreamInItsOrder) {
    std::vector<int> done;
    for (int i = 0; i < 40; ++i) {
        run(stream, [&done, i] { done.push_back(i); });
    }
    stream.finish();

    std::vector<int> expected(40);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(done, expected);
}

TEST_P(EmulatedDeviceTest, ReadsWhatItCopiesWhenItCopies) {
    std::vector<int> from{1, 2, 3}, to(3);
    const auto bytes = static_cast<std::int64_t>(from.size() * sizeof(int));
    std::atomic<bool> may_go_on{false};
    run(stream, [&] {
        while (GetParam() == Mode::threads && !may_go_on) {
            std::this_thread::yield();
        }
    });
    copy(stream, arena.data(), reinterpret_cast<const std::byte*>(from.data()), bytes);
    from = {4, 5, 6};
    copy(stream, reinterpret_cast<std::byte*>(to.data()), arena.data(), bytes);
    EXPECT_EQ(to, std::vector<int>(3)) << "done before anybody waited";
    may_go_on = true;
    stream.finish();

    EXPECT_EQ(to, (std::vector{4, 5, 6}));
}

TEST_P(EmulatedDeviceTest, WaitsForAnEventOfAnotherStreamAsItWasRecordedLast) {
    for (int round = 0; round < 30; ++round) {
        std::atomic<int> value{0};
        Event event{stream};
        run(stream, [&] { value = 1; });
        event.record(stream);
        run(stream, [&] { value = 2; });
        event.record(stream);
        other.wait_for(event);
        int seen = -1;
        run(other, [&] { seen = value; });
        other.finish();
        EXPECT_EQ(seen, 2);
        EXPECT_TRUE(event.is_done());
    }
}

/// Without a wait, streams overtake each other, which exposes missing waits.
TEST_P(EmulatedDeviceTest, LetsStreamsOvertakeEachOther) {
    bool has_overtaken = false;
    for (int round = 0; round < 2000 && !has_overtaken; ++round) {
        std::atomic<bool> is_first_done{false};
        run(stream, [&] { is_first_done = true; });
        run(other, [&] { has_overtaken = has_overtaken || !is_first_done; });
        stream.finish();
        other.finish();
    }
    EXPECT_TRUE(has_overtaken);
}

TEST_P(EmulatedDeviceTest, TellsWhenItCameToAnEvent) {
    Event first{stream}, second{stream};
    EXPECT_TRUE(first.is_done()) << "before the first time";
    first.record(stream);
    run(stream, [] {});
    second.record(stream);
    wait(second);

    EXPECT_TRUE(first.is_done());
    EXPECT_GT(first.time_ns(), 0);
    EXPECT_GE(second.time_ns(), first.time_ns());
}

TEST_P(EmulatedDeviceTest, KeepsWhatWorkThrowsForWhoAsks) {
    bool has_run = false;
    Event event{stream};
    run(stream, [] { throw std::runtime_error{"a kernel's problem"}; });
    run(stream, [&] { has_run = true; });
    event.record(stream);

    EXPECT_THROW(wait(event), std::runtime_error);
    EXPECT_THROW(stream.finish(), std::runtime_error);
    other.wait_for(event);
    EXPECT_THROW(other.finish(), std::runtime_error);
    EXPECT_FALSE(has_run);
}

TEST_P(EmulatedDeviceTest, ReachesItsMemoryThroughAnotherMappingAlone) {
    auto* const reachable = queue_of(stream).reachable(arena.data() + 5);

    EXPECT_EQ(reachable, arena.host_view() + 5);
    EXPECT_NE(reachable, arena.data() + 5);
    EXPECT_EQ(queue_of(stream).reachable(nullptr), nullptr);
    int of_the_host = 0;
    EXPECT_THROW(queue_of(stream).reachable(reinterpret_cast<const std::byte*>(&of_the_host)), Error);
    EXPECT_THROW(queue_of(stream).reachable(arena.data() + arena.bytes()), Error);
    EXPECT_THROW(queue_of(stream).reachable(arena.host_view()), Error);
}

TEST_P(EmulatedDeviceTest, RefusesCopiesThatAreNotWhollyInOneArena) {
    std::vector<std::byte> host(16);
    const auto refused = [&](std::byte* to, const std::byte* from) {
        EXPECT_THROW(copy(stream, to, from, 16), Error);
    };
    refused(arena.data() + arena.bytes() - 8, host.data());
    refused(arena.data() - 8, host.data());
    refused(host.data(), arena.data() + arena.bytes() - 8);
    refused(host.data(), arena.host_view());
    refused(arena.host_view(), host.data());
    refused(arena.data(), arena.data() + 8);

    std::vector<std::byte> same(16, std::byte{7});
    copy(stream, host.data(), same.data(), 16);
    stream.finish();
    EXPECT_EQ(host, same);
}

TEST_P(EmulatedDeviceTest, SharesArenasByTheirDescriptor) {
    const auto shared = device.reserve(4096, "a test's arena", Arena::Kind::shared);
    EXPECT_GE(shared.descriptor(), 0);
    EXPECT_EQ(arena.descriptor(), -1);
    EXPECT_EQ(device.reserve(0, "nothing", Arena::Kind::shared).data(), nullptr);
}

TEST_P(EmulatedDeviceTest, EndsAnArenaWhenTheWorkOnItIsDone) {
    int value = 3, copied = 0;
    {
        const auto brief = device.reserve(4096, "a test's arena", Arena::Kind::own);
        copy(stream, brief.data(), reinterpret_cast<const std::byte*>(&value), sizeof(int));
        copy(stream, reinterpret_cast<std::byte*>(&copied), brief.data(), sizeof(int));
    }
    EXPECT_EQ(copied, 3);
}

TEST_P(EmulatedDeviceTest, RunsKernelsOnTheThreadThatMayRunThem) {
    const auto expected = [&] {
        std::thread::id id = std::this_thread::get_id();
        if (GetParam() == Mode::threads) {
            thread.run([&] { id = std::this_thread::get_id(); });
        }
        return id;
    }();
    std::thread::id seen;
    run(stream, [&] { seen = std::this_thread::get_id(); });
    stream.finish();
    EXPECT_EQ(seen, expected);
}

/// Copies as made by the writer of a checkpoint during a step.
TEST_P(EmulatedDeviceTest, FinishesCopiesOfAnotherThreadWithoutRunningKernelsThere) {
    const auto me = std::this_thread::get_id();
    std::atomic<bool> ran_elsewhere{false};
    for (int i = 0; i < 20; ++i) {
        run(stream, [&, me] {
            ran_elsewhere = ran_elsewhere || (GetParam() == Mode::polled && std::this_thread::get_id() != me);
        });
    }
    int value = 5, copied = 0;
    std::thread background{[&] {
        copy(other, arena.data(), reinterpret_cast<const std::byte*>(&value), sizeof(int));
        copy(other, reinterpret_cast<std::byte*>(&copied), arena.data(), sizeof(int));
        other.finish();
    }};
    background.join();
    stream.finish();
    EXPECT_EQ(copied, 5);
    EXPECT_FALSE(ran_elsewhere);
}

INSTANTIATE_TEST_SUITE_P(Both,
                         EmulatedDeviceTest,
                         ::testing::Values(Mode::threads, Mode::polled),
                         [](const auto& test) {
                             return std::string{test.param == Mode::threads ? "threads" : "polled"};
                         });

TEST(EmulatedDeviceDeathTest, TouchedMemoryEndsTheProcessAndIsNamed) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EmulatedDevice device{{}};
    const auto arena = device.reserve(4096, "a test's arena", Arena::Kind::own);
    EXPECT_DEATH(const_cast<volatile std::byte&>(arena.data()[12]) = std::byte{1},
                 "touched byte 12 of a test's arena, which is memory of a device");
}

}  // namespace
}  // namespace ziggurat::device
