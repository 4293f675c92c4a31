/// The thread of host kernels: order, errors, end.
#include "device/host_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace ziggurat::device {
namespace {

void wait_for(const HostThread& thread, Task& task) {
    while (!thread.is_done(task)) {
        std::this_thread::yield();
    }
}

TEST(HostThread, DoesWhatIsPostedInOrderAndReturnsAtOnce) {
    std::latch may_begin{1};
    std::vector<int> done;
    std::vector<Task> tasks(5);
    HostThread thread;
    for (int i = 0; i < std::ssize(tasks); ++i) {
        tasks[static_cast<std::size_t>(i)].work = [&, i] {
            may_begin.wait();
            done.push_back(i);
        };
        thread.post(tasks[static_cast<std::size_t>(i)]);
    }
    EXPECT_FALSE(thread.is_done(tasks.front()));

    may_begin.count_down();
    wait_for(thread, tasks.back());

    EXPECT_EQ(done, (std::vector{0, 1, 2, 3, 4}));
    for (std::size_t i = 0; i + 1 < tasks.size(); ++i) {
        EXPECT_LE(tasks[i].begin_ns, tasks[i].end_ns);
        EXPECT_LE(tasks[i].end_ns, tasks[i + 1].begin_ns);
    }
}

TEST(HostThread, TellsWhenATaskIsDone) {
    std::atomic<int> reported = 0;
    std::thread::id teller;
    Task task;
    HostThread thread;
    task.work = [&] { EXPECT_EQ(reported, 0); };
    task.when_done = [&] {
        teller = std::this_thread::get_id();
        ++reported;
    };

    thread.post(task);
    wait_for(thread, task);

    EXPECT_EQ(reported, 1);
    EXPECT_NE(teller, std::this_thread::get_id());
}

TEST(HostThread, DoesATaskAgain) {
    int times = 0;
    Task task{.work = [&] { ++times; }};
    HostThread thread;
    for (int i = 0; i < 3; ++i) {
        thread.post(task);
        wait_for(thread, task);
    }
    EXPECT_EQ(times, 3);
}

TEST(HostThread, RunsBehindWhatWasPostedAndWaits) {
    std::string order;
    Task task{.work = [&] { order += "posted "; }};
    HostThread thread;
    thread.post(task);

    thread.run([&] { order += "run"; });

    EXPECT_EQ(order, "posted run");
}

TEST(HostThread, RunsAtOnceWhatItsOwnWorkRuns) {
    std::string order;
    HostThread thread;

    thread.run([&] {
        order += "outer ";
        thread.run([&] { order += "inner "; });
        order += "outer";
    });

    EXPECT_EQ(order, "outer inner outer");
}

TEST(HostThread, ThrowsWhatWorkHasThrownWhereItIsAskedFor) {
    Task task{.work = [] { throw std::runtime_error{"posted"}; }};
    HostThread thread;

    EXPECT_THROW(thread.run([] { throw std::runtime_error{"run"}; }), std::runtime_error);
    thread.post(task);
    thread.run([] {});  // continues
    EXPECT_THROW(thread.is_done(task), std::runtime_error);
    EXPECT_TRUE(thread.is_done(task)) << "told once";

    task.work = [] {};
    thread.post(task);
    wait_for(thread, task);
}

TEST(HostThread, EndsWhenItHasDoneWhatWasPosted) {
    std::latch may_begin{1};
    int done = 0;
    std::vector<Task> tasks(3);
    for (auto& task : tasks) {
        task.work = [&] {
            may_begin.wait();
            ++done;
        };
    }
    {
        HostThread thread;
        for (auto& task : tasks) {
            thread.post(task);
        }
        may_begin.count_down();
    }
    EXPECT_EQ(done, 3);
}

}  // namespace
}  // namespace ziggurat::device
