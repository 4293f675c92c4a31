/// Lanes on a emulated device with threaded or polled streams: aborted steps, and work that fails when
/// it is done.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "comm/main_thread_waits.hpp"
#include "comm/wait_context.hpp"
#include "comm/watch/liveness.hpp"
#include "device/async_queue.hpp"
#include "device/emulated/emulated_device.hpp"
#include "schedule/place/derive_dependencies.hpp"
#include "state/tier_memory.hpp"
#include "train/ops/host_optimizer_thread.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;
using Mode = device::EmulatedDevice::Mode;

void fail() {
    throw Error{ErrorKind::resource, "the device is gone"};
}

/// A chain of ops on lanes of a emulated device, each waiting for the previous one.
class EmulatedRig {
  public:
    explicit EmulatedRig(Mode mode, device::WaitObserver* watch = nullptr)
        : thread{mode == Mode::threads ? std::make_unique<device::HostThread>(watch) : nullptr},
          device{{.mode = mode, .seed = 7, .thread = thread.get(), .watch = watch}} {
        schedule::Buffer buffer;
        buffer.bytes = 64;
        buffer.offset = 0;
        program.add_buffer(buffer);
    }

    void add(Engine engine, std::function<void()> work) {
        schedule::Op op;
        op.lane = program.lane(engine);
        if (op.lane == std::ssize(streams)) {
            streams.push_back(device.make_stream());
        }
        op.writes = {schedule::whole(program, 0, schedule::Role::input)};
        op.label = "op " + std::to_string(program.ops.size());
        auto& queue = streams[static_cast<std::size_t>(op.lane)].queue();
        actions.push_back({.run = [&queue, work] { static_cast<device::AsyncQueue&>(queue).run(work); }});
        program.ops.push_back(std::move(op));
    }
    Executor make(comm::WaitContext context = {}) {
        derive_dependencies(program);
        return Executor{program, actions, context, 60, nullptr, streams};
    }

    std::unique_ptr<device::HostThread> thread;
    device::EmulatedDevice device;
    schedule::Program program;
    std::vector<Action> actions;
    std::vector<device::Stream> streams;  ///< by lane
};

class EmulatedLanes : public ::testing::TestWithParam<Mode> {};

TEST_P(EmulatedLanes, LeaveOutMostOfAStepThatIsGivenUpEarly) {
    EmulatedRig rig{GetParam()};
    std::atomic<int> num_done = 0;
    for (int i = 0; i < 300; ++i) {
        rig.add(Engine::compute, [&num_done] { ++num_done; });
    }
    auto executor = rig.make();
    executor.between_ops([&] {
        if (num_done >= 5) {
            executor.abandon_step();
        }
    });

    executor.run_step();
    executor.finish();

    EXPECT_GE(num_done, 5);
    EXPECT_LE(num_done, 40) << "of 300";
}

TEST_P(EmulatedLanes, TellWhichOpHasFailed) {
    for (const int failing : {0, 1, 2, 3}) {
        EmulatedRig rig{GetParam()};
        const auto work = [failing](int op) { return op == failing ? fail : [] {}; };
        rig.add(Engine::host_to_device, work(0));
        rig.add(Engine::compute, work(1));
        rig.add(Engine::device_to_host, work(2));
        rig.add(Engine::compute, work(3));
        auto executor = rig.make();
        try {
            executor.run_step();
            executor.finish();
            ADD_FAILURE() << "nothing was thrown";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::resource);
            EXPECT_EQ(error.what(), "'op " + std::to_string(failing) + "' failed: the device is gone");
        }
    }
}

TEST_P(EmulatedLanes, SayOnceWhatFailedWhoeverSeesIt) {
    EmulatedRig rig{GetParam()};
    rig.add(Engine::compute, fail);
    std::string reported;
    ::testing::internal::CaptureStderr();
    try {
        auto executor = rig.make();
        executor.run_step();  // may already detect it
    } catch (const Error& error) {
        reported = std::string{"ziggurat: error: "} + error.what() + "\n";
    }
    reported += ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(reported, "ziggurat: error: 'op 0' failed: the device is gone\n");
}

INSTANTIATE_TEST_SUITE_P(Modes,
                         EmulatedLanes,
                         ::testing::Values(Mode::polled, Mode::threads),
                         [](const auto& made) { return made.param == Mode::polled ? "Polled" : "Threads"; });

/// Returns a job of one rank in this process.
comm::MonitoredRanks alone() {
    comm::MonitoredRanks list{.peers = {},
                              .me = 0,
                              .world_size = 1,
                              .host = "machine",
                              .board = comm::NodeStatusBoard::create(1),
                              .is_shared = true,
                              .launcher = std::nullopt};
    list.peers.push_back({0, ::getpid(), comm::process_state(::getpid())->started_at});
    return list;
}

TEST(EmulatedLanesDeathTest, EndTheJobByAFailureThatNobodyHasSeen) {
    const auto leave_with_failing_op = [] {
        comm::Liveness liveness{alone()};
        EmulatedRig rig{Mode::threads};
        std::latch may_fail{1};
        rig.add(Engine::compute, [&may_fail] {
            may_fail.wait();
            fail();
        });
        {
            auto executor = rig.make(comm::WaitContext{liveness});
            executor.run_step();
            may_fail.count_down();
        }
        std::_Exit(0);
    };

    EXPECT_EXIT(leave_with_failing_op(), ::testing::ExitedWithCode(3),
                "error: rank 0 of 1 \\(machine\\): 'op 0' failed: the device is gone");
}

TEST(EmulatedLanesDeathTest, EndTheJobByAnUpdateOfTheHostThatNobodyHasSeenFail) {
    const auto leave_with_failing_update = [] {
        comm::Liveness liveness{alone()};
        device::HostThread thread;
        schedule::Program program;
        schedule::Op op;
        op.lane = program.lane(Engine::host_optimizer);
        op.label = "update 3";
        program.ops.push_back(op);
        {
            HostOptimizerThread host{device::Stream{1, &thread}, comm::WaitContext{liveness}, [] {}};
            host.applied_to(program, program.ops[0], {.run = fail}).start();
        }
        std::_Exit(0);
    };

    EXPECT_EXIT(leave_with_failing_update(), ::testing::ExitedWithCode(3),
                "error: rank 0 of 1 \\(machine\\): 'update 3' failed: the device is gone");
}

/// Sleeps much longer than the hang timeout of a test.
void hang() {
    std::this_thread::sleep_for(std::chrono::seconds{30});
}

TEST(EmulatedLanesDeathTest, GiveUpTheirOwnDeviceWhenItDoesNotComeToAnEnd) {
    const auto hang_until = [](bool is_destroyed) {
        comm::Liveness liveness{alone()};
        liveness.set_hang_timeout(0.05);
        const comm::WaitContext waits{liveness};
        comm::MainThreadWaits own_waits{waits};
        EmulatedRig rig{Mode::threads, &own_waits};
        rig.add(Engine::compute, hang);
        {
            auto executor = rig.make(waits);
            executor.run_step();
            if (!is_destroyed) {
                executor.finish();
            }
        }
        std::_Exit(0);
    };

    EXPECT_EXIT(hang_until(false), ::testing::ExitedWithCode(3),
                "'op 0' has not completed on this rank's own device.*Check the device");
    EXPECT_EXIT(hang_until(true), ::testing::ExitedWithCode(3), "'the work of its device' has not completed");
}

TEST(EmulatedLanesDeathTest, GiveUpAnUpdateOfTheHostThatDoesNotComeToAnEnd) {
    const auto hang_until = [](bool is_destroyed) {
        comm::Liveness liveness{alone()};
        liveness.set_hang_timeout(0.05);
        const comm::WaitContext waits{liveness};
        comm::MainThreadWaits own_waits{waits};
        device::HostThread thread{&own_waits};
        schedule::Program program;
        schedule::Op op;
        op.lane = program.lane(Engine::host_optimizer);
        op.label = "update 3";
        program.ops.push_back(op);
        {
            HostOptimizerThread host{device::Stream{1, &thread}, waits, [] {}};
            Executor executor{program, {host.applied_to(program, program.ops[0], {.run = hang})}, waits, 60};
            executor.run_step();
            executor.advance();
            if (!is_destroyed) {
                executor.finish();
            }
        }
        std::_Exit(0);
    };

    EXPECT_EXIT(hang_until(false), ::testing::ExitedWithCode(3), "'update 3' has not completed");
    EXPECT_EXIT(hang_until(true), ::testing::ExitedWithCode(3),
                "'the work of its host-kernel thread' has not completed");
}

TEST(EmulatedLanesDeathTest, GiveUpWorkOfTheHostThatDoesNotComeToAnEnd) {
    const auto hang_until = [](bool is_destroyed) {
        comm::Liveness liveness{alone()};
        liveness.set_hang_timeout(0.05);
        comm::MainThreadWaits own_waits{comm::WaitContext{liveness}};
        device::Task task{.work = hang};
        {
            device::HostThread thread{&own_waits};
            thread.post(task);
            if (!is_destroyed) {
                thread.run([] {});
            }
        }
        std::_Exit(0);
    };

    for (const bool is_destroyed : {false, true}) {
        EXPECT_EXIT(hang_until(is_destroyed), ::testing::ExitedWithCode(3),
                    "'the work of its host-kernel thread' has not completed");
    }
}

/// Device whose streams begin with work that hangs.
class HangingDevice final : public device::Device {
  public:
    explicit HangingDevice(device::EmulatedDevice& after) : after_{after} {}

    device::Arena reserve(std::int64_t bytes, const char* purpose, device::Arena::Kind kind) override {
        return after_.reserve(bytes, purpose, kind);
    }
    device::Stream make_stream() override {
        auto stream = after_.make_stream();
        static_cast<device::AsyncQueue&>(stream.queue()).run(hang);
        return stream;
    }

  private:
    device::EmulatedDevice& after_;
};

TEST(EmulatedLanesDeathTest, GiveUpACopyBetweenStepsThatDoesNotComeToItsEnd) {
    const auto hang_in = [](bool is_read) {
        comm::Liveness liveness{alone()};
        liveness.set_hang_timeout(0.05);
        comm::MainThreadWaits own_waits{comm::WaitContext{liveness}};
        EmulatedRig rig{Mode::threads, &own_waits};
        HangingDevice device{rig.device};
        rig.program.arena_bytes[0] = 64;
        const state::TierMemory memory{{&rig.program}, 1, device};
        std::array<std::byte, 8> bytes{};
        if (is_read) {
            memory.read(rig.program.buffers.front(), 0, bytes);
        } else {
            memory.write(rig.program.buffers.front(), 0, bytes);
        }
        std::_Exit(0);
    };

    for (const bool is_read : {false, true}) {
        EXPECT_EXIT(hang_in(is_read), ::testing::ExitedWithCode(3),
                    "'a copy of its device' has not completed on this rank's own device");
    }
}

}  // namespace
}  // namespace ziggurat::train
