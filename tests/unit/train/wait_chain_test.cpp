#include "train/wait_chain.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/support/counted_allocations.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;

/// Ops by lane, and what was done when, in milliseconds.
class Timeline {
  public:
    int add(Engine engine) {
        schedule::Op op;
        op.lane = program.lane(engine);
        program.ops.push_back(op);
        return static_cast<int>(program.ops.size()) - 1;
    }
    /// `op` could begin at `ready`, when `after` was done.
    void done(int op, std::int64_t begin, std::int64_t end, std::int64_t ready = 0, int after = -1) {
        records.push_back({op, -1, 0, begin, end, ready, after});
    }
    /// The thread of the compute lane was at `op` of another lane.
    void worked(int op, std::int64_t begin, std::int64_t end) { records.push_back({0, op, 0, begin, end}); }
    /// Time by op.
    std::map<int, std::int64_t> blame(std::int64_t begin, std::int64_t end) {
        WaitChain chain{program};
        std::map<int, std::int64_t> times;
        chain.split(records, begin, end, [&](int op, std::int64_t from, std::int64_t to) {
            EXPECT_LT(from, to);
            times[op] += to - from;
        });
        return times;
    }

    schedule::Program program;
    std::vector<LaneRecord> records;
};

TEST(WaitChain, FollowsACopyToTheReadThatHeldItUp) {
    Timeline line;
    const int compute = line.add(Engine::compute);
    const int read = line.add(Engine::nvme_read);
    const int copy = line.add(Engine::host_to_device);
    line.done(read, -50, 70);
    line.done(copy, 70, 90, 70, read);
    line.done(compute, 90, 100, 90, copy);

    EXPECT_EQ(line.blame(0, 100), (std::map<int, std::int64_t>{{read, 70}, {copy, 20}}));
}

TEST(WaitChain, BooksAWriteThatWaitsForAReadOnTheRead) {
    Timeline line;
    const int compute = line.add(Engine::compute);
    const int read = line.add(Engine::nvme_read);
    const int update = line.add(Engine::host_optimizer);
    const int write = line.add(Engine::nvme_write);
    line.done(compute, 0, 10);
    line.done(read, 5, 80);
    line.done(update, 80, 84, 80, read);
    line.done(write, 84, 90, 84, update);
    line.done(compute, 90, 100, 90, write);

    EXPECT_EQ(line.blame(0, 100), (std::map<int, std::int64_t>{{read, 70}, {update, 4}, {write, 6}}));
}

TEST(WaitChain, NamesWhatTheThreadDidForOtherLanes) {
    Timeline line;
    const int compute = line.add(Engine::compute);
    const int copy = line.add(Engine::device_to_host);
    line.done(compute, 0, 10);
    line.worked(copy, 12, 30);
    line.done(copy, 12, 30, 10, compute);
    line.done(compute, 31, 40, 10, compute);

    EXPECT_EQ(line.blame(0, 40), (std::map<int, std::int64_t>{{copy, 18}})) << "3 ms are the thread's own";
}

TEST(WaitChain, BooksALateStartOnWhatTheThreadWasAt) {
    Timeline line;
    const int compute = line.add(Engine::compute);
    const int out = line.add(Engine::device_to_host);
    const int in = line.add(Engine::host_to_device);
    line.done(compute, 0, 10);
    line.worked(out, 10, 40);
    line.done(out, 10, 40, 10, compute);
    line.done(in, 40, 60, 5);  // it could have begun at 5
    line.worked(in, 40, 60);
    line.done(compute, 60, 70, 60, in);

    EXPECT_EQ(line.blame(0, 70), (std::map<int, std::int64_t>{{out, 30}, {in, 20}}));
}

TEST(WaitChain, NamesTheEndOfTheStepBehindTheLastOp) {
    Timeline line;
    const int compute = line.add(Engine::compute);
    const int norm = line.add(Engine::collective);
    line.program.ops.back().kind = schedule::OpKind::step_end;
    line.done(compute, 0, 10);
    line.done(norm, 10, 25, 10, compute);

    EXPECT_EQ(line.blame(0, 26), (std::map<int, std::int64_t>{{norm, 16}}));
}

TEST(WaitChain, SplitsTimeWithoutOverlap) {
    Timeline line;
    const int compute = line.add(Engine::compute);
    const int first = line.add(Engine::nvme_read);
    const int second = line.add(Engine::nvme_read);
    line.done(first, 0, 30);
    line.done(second, 2, 60, 0, first);  // beside the first
    line.done(compute, 60, 70, 60, second);

    const auto times = line.blame(0, 70);

    std::int64_t sum = 0;
    for (const auto& [op, time] : times) {
        sum += time;
    }
    EXPECT_EQ(sum, 60);
}

TEST(WaitChain, DoesNotAllocate) {
    Timeline line;
    const int compute = line.add(Engine::compute);
    const int read = line.add(Engine::nvme_read);
    line.done(read, 0, 30);
    line.done(compute, 30, 40, 30, read);
    WaitChain chain{line.program};
    const WaitChain::Blame ignore = [](int, std::int64_t, std::int64_t) {};
    const test::CountedAllocations counted;
    chain.split(line.records, 0, 40, ignore);
    EXPECT_EQ(counted.allocations(), 0);
}

}  // namespace
}  // namespace ziggurat::train
