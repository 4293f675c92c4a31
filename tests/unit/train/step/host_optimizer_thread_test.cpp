/// Ops of the host's optimizer on a thread other than the issuing one.
#include "train/ops/host_optimizer_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "schedule/place/derive_dependencies.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;

schedule::Program program_of(const std::vector<Engine>& engines) {
    schedule::Program program;
    for (const auto engine : engines) {
        schedule::Op op;
        op.lane = program.lane(engine);
        op.label = "op " + std::to_string(program.ops.size());
        program.ops.push_back(op);
    }
    schedule::derive_dependencies(program);
    return program;
}

/// Returns the actions of a program's ops with the given works.
std::vector<Action> actions_of(const schedule::Program& program,
                               HostOptimizerThread& host,
                               const std::vector<std::function<void()>>& works) {
    std::vector<Action> actions;
    for (std::size_t i = 0; i < works.size(); ++i) {
        actions.push_back(host.applied_to(program, program.ops[i], {.run = works[i]}));
    }
    return actions;
}

TEST(HostOptimizerThread, LetsTheComputeLaneGoOn) {
    const auto program = program_of({Engine::host_optimizer, Engine::compute, Engine::host_optimizer});
    device::HostThread thread;
    std::latch has_computed{1};
    std::vector<int> done;
    std::atomic<int> rings = 0;
    HostOptimizerThread host{device::Stream{1, &thread}, {}, [&] { ++rings; }};
    const auto issuer = std::this_thread::get_id();
    const auto update = [&](int number) {
        if (std::this_thread::get_id() == issuer) {
            ADD_FAILURE() << "by the thread that issues";
        } else {
            has_computed.wait();
        }
        done.push_back(number);
    };
    Executor executor{
        program,
        actions_of(program, host,
                   {[&] { update(0); }, [&] { has_computed.count_down(); }, [&] { update(2); }}),
        comm::WaitContext{}, 600};

    executor.run_step();
    executor.finish();

    EXPECT_EQ(done, (std::vector{0, 2}));
    EXPECT_EQ(rings, 2);
    std::int64_t ended_ns = 0;
    for (const auto& record : executor.records()) {
        if (record.cause < 0 && record.op != 1) {
            EXPECT_LE(ended_ns, record.begin_ns) << "by the times of the thread that works";
            EXPECT_LE(record.begin_ns, record.end_ns);
            ended_ns = record.end_ns;
        }
    }
}

TEST(HostOptimizerThread, LeavesOtherLanesAndHostsWithoutAThreadAlone) {
    const auto program = program_of({Engine::host_optimizer, Engine::compute});
    device::HostThread thread;
    HostOptimizerThread beside{device::Stream{1, &thread}, {}, {}};
    HostOptimizerThread in_place{device::Stream{1}, {}, {}};

    EXPECT_FALSE(in_place.applied_to(program, program.ops[0], {.run = [] {}}).is_asynchronous());
    EXPECT_FALSE(beside.applied_to(program, program.ops[1], {.run = [] {}}).is_asynchronous());
    EXPECT_TRUE(beside.applied_to(program, program.ops[0], {.run = [] {}}).is_asynchronous());
}

TEST(HostOptimizerThread, ThrowsWhereTheOpIsPolled) {
    const auto program = program_of({Engine::host_optimizer});
    device::HostThread thread;
    HostOptimizerThread host{device::Stream{1, &thread}, {}, {}};
    Executor executor{program, actions_of(program, host, {[] { throw std::runtime_error{"no"}; }}),
                      comm::WaitContext{}, 600};
    executor.run_step();

    try {
        executor.finish();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
        EXPECT_TRUE(std::string{error.what()}.starts_with("'op 0' failed: no")) << error.what();
    }
}

TEST(HostOptimizerThread, EndsWhenWhatWasPostedIsDone) {
    const auto program = program_of({Engine::host_optimizer});
    device::HostThread thread;
    std::latch may_end{1};
    bool is_done = false;
    {
        HostOptimizerThread host{device::Stream{1, &thread}, {}, {}};
        const auto update = host.applied_to(program, program.ops[0], {.run = [&] {
                                                may_end.wait();
                                                is_done = true;
                                            }});
        update.start();
        may_end.count_down();
    }
    EXPECT_TRUE(is_done);
}

}  // namespace
}  // namespace ziggurat::train
