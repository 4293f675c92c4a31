/// Waits for a rank's own processors, as other ranks see them.
#include "comm/main_thread_waits.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "comm/watch/liveness.hpp"

namespace ziggurat::comm {
namespace {

MonitoredRanks alone() {
    MonitoredRanks list{.peers = {},
                        .me = 0,
                        .world_size = 1,
                        .host = "machine",
                        .board = NodeStatusBoard::create(1),
                        .is_shared = true,
                        .launcher = std::nullopt};
    list.peers.push_back({0, ::getpid(), process_state(::getpid())->started_at});
    return list;
}

TEST(MainThreadWaits, AreWorkOfTheThreadThatPublishesAndOfNoOther) {
    Liveness liveness{alone()};
    MainThreadWaits waits{WaitContext{liveness}};
    const auto report = [&] { return liveness.watch_list().report_of(0, monotonic_ns()); };
    {
        const device::ScopedWait wait{&waits, "a copy"};
        EXPECT_TRUE(report().device_busy);
        EXPECT_FALSE(report().is_waiting);
        EXPECT_EQ(report().what, "a copy");
        std::thread{[&] { const device::ScopedWait beside{&waits, "another copy"}; }}.join();
        EXPECT_TRUE(report().device_busy) << "ended by another thread";
    }
    EXPECT_FALSE(report().device_busy);
    std::thread{[&] {
        const device::ScopedWait beside{&waits, "another copy"};
        EXPECT_FALSE(report().device_busy);
    }}.join();
}

}  // namespace
}  // namespace ziggurat::comm
