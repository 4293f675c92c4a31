#include "train/account/critical_path.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <vector>

#include "tests/support/counted_allocations.hpp"

namespace ziggurat::train {
namespace {

using schedule::Engine;

/// Ops of the ranks of a node by lane, and their times in milliseconds.
class Timeline {
  public:
    explicit Timeline(int num_ranks = 1) : ranks(static_cast<std::size_t>(num_ranks)) {
        for (int rank = 0; rank < num_ranks; ++rank) {
            of(rank).program.rank = rank;
        }
    }

    int add(Engine engine, int rank = 0) {
        auto& program = of(rank).program;
        schedule::Op op;
        op.lane = program.lane(engine);
        program.ops.push_back(op);
        return static_cast<int>(program.ops.size()) - 1;
    }
    /// Adds the next collective over all ranks.
    int add_collective(int rank) {
        const int op = add(Engine::collective, rank);
        of(rank).program.ops.back().kind = schedule::OpKind::all_gather;
        std::vector<int> all(ranks.size());
        std::iota(all.begin(), all.end(), 0);
        of(rank).program.ops.back().group = of(rank).program.group("data", all);
        return op;
    }
    int add_step_end(int rank = 0) {
        const int op = add(Engine::step_end, rank);
        of(rank).program.ops.back().kind = schedule::OpKind::step_end;
        return op;
    }
    /// Records `op`, which could begin at `ready`, when `after` was done.
    void done(
        int op, std::int64_t begin, std::int64_t end, std::int64_t ready = 0, int after = -1, int rank = 0) {
        of(rank).records.push_back({op, -1, step, begin, end, ready, after});
    }
    /// Records that the thread of the compute lane worked on `op` of another lane.
    void worked(int op, std::int64_t begin, std::int64_t end, int rank = 0) {
        of(rank).records.push_back({0, op, step, begin, end});
    }

    /// Returns the times of all ranks, as ranks publish them.
    NodeTimes times() {
        NodeTimes made{.ranks = {}, .collectives = CollectiveMatch{keys()}};
        for (auto& rank : ranks) {
            rank.memory.assign(static_cast<std::size_t>(OpTimes::bytes_for(rank.program.ops.size())) / 8, 0);
            OpTimes times{reinterpret_cast<std::byte*>(rank.memory.data()), rank.program.ops.size()};
            for (const auto& record : rank.records) {
                if (record.cause >= 0) {
                    times.was_busy({record.cause, record.begin_ns, record.end_ns});
                    continue;
                }
                times.began(record.op, {record.step, record.begin_ns, 0, record.ready_ns, record.after});
                times.ended(record.op, record.step, record.end_ns);
            }
            made.ranks.push_back({static_cast<int>(made.ranks.size()), times, engines_of(rank.program)});
        }
        return made;
    }
    /// Returns the time of rank 0 by op; ops of other ranks are 100 * rank + op.
    std::map<int, std::int64_t> visitor(std::int64_t begin, std::int64_t end) {
        const auto known = times();
        const CriticalPath chain{of(0).program, known};
        std::map<int, std::int64_t> times;
        chain.split(of(0).records, begin, end,
                    [&](const CriticalPath::Owner& owner, std::int64_t from, std::int64_t to) {
                        EXPECT_LT(from, to);
                        times[100 * owner.rank + owner.op] += to - from;
                        via[100 * owner.rank + owner.op] = owner.via;
                    });
        return times;
    }

    struct Rank {
        schedule::Program program;
        std::vector<LaneRecord> records;
        std::vector<std::uint64_t> memory;
    };
    Rank& of(int rank) { return ranks[static_cast<std::size_t>(rank)]; }

    std::vector<Rank> ranks;
    std::int64_t step = 0;
    std::map<int, int> via;

  private:
    std::vector<std::vector<std::uint64_t>> keys() const {
        std::vector<std::vector<std::uint64_t>> made;
        for (const auto& rank : ranks) {
            made.push_back(collective_keys(rank.program));
        }
        return made;
    }
};

TEST(CriticalPath, FollowsACopyToTheReadThatHeldItUp) {
    Timeline line;
    const int compute = line.add(Engine::compute);
    const int read = line.add(Engine::nvme_read);
    const int copy = line.add(Engine::host_to_device);
    line.done(read, -50, 70);
    line.done(copy, 70, 90, 70, read);
    line.done(compute, 90, 100, 90, copy);

    EXPECT_EQ(line.visitor(0, 100), (std::map<int, std::int64_t>{{read, 70}, {copy, 20}}));
}

TEST(CriticalPath, BooksAWriteThatWaitsForAReadOnTheRead) {
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

    EXPECT_EQ(line.visitor(0, 100), (std::map<int, std::int64_t>{{read, 70}, {update, 4}, {write, 6}}));
}

TEST(CriticalPath, NamesWhatTheThreadDidForOtherLanes) {
    Timeline line;
    const int compute = line.add(Engine::compute);
    const int copy = line.add(Engine::device_to_host);
    line.done(compute, 0, 10);
    line.worked(copy, 12, 30);
    line.done(copy, 12, 30, 10, compute);
    line.done(compute, 31, 40, 10, compute);

    EXPECT_EQ(line.visitor(0, 40), (std::map<int, std::int64_t>{{copy, 18}})) << "3 ms are the thread's own";
}

TEST(CriticalPath, BooksALateStartOnWhatTheThreadWasAt) {
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

    EXPECT_EQ(line.visitor(0, 70), (std::map<int, std::int64_t>{{out, 30}, {in, 20}}));
}

TEST(CriticalPath, NamesTheEndOfTheStepBehindTheLastOp) {
    Timeline line;
    const int compute = line.add(Engine::compute);
    const int norm = line.add_step_end();
    line.done(compute, 0, 10);
    line.done(norm, 10, 25, 10, compute);

    EXPECT_EQ(line.visitor(0, 26), (std::map<int, std::int64_t>{{norm, 16}}));
}

TEST(CriticalPath, SplitsTimeWithoutOverlap) {
    Timeline line;
    const int compute = line.add(Engine::compute);
    const int first = line.add(Engine::nvme_read);
    const int second = line.add(Engine::nvme_read);
    line.done(first, 0, 30);
    line.done(second, 2, 60, 0, first);  // concurrently with the first
    line.done(compute, 60, 70, 60, second);

    const auto times = line.visitor(0, 70);

    std::int64_t sum = 0;
    for (const auto& [op, time] : times) {
        sum += time;
    }
    EXPECT_EQ(sum, 60);
}

TEST(CriticalPath, FollowsACollectiveToTheReadOfTheRankThatCameLast) {
    Timeline line{2};
    const int compute = line.add(Engine::compute);
    const int gather = line.add_collective(0);
    const int read = line.add(Engine::nvme_read, 1);
    const int gather_present = line.add_collective(1);
    line.done(gather, 10, 95, 10);
    line.done(compute, 95, 100, 95, gather);
    line.done(read, 5, 80, 5, -1, 1);
    line.done(gather_present, 82, 90, 80, read, 1);

    EXPECT_EQ(line.visitor(10, 100), (std::map<int, std::int64_t>{{100 + read, 72}, {gather, 13}}))
        << "the other rank's thread was slow to see that the read was done";
    EXPECT_EQ(line.via[100 + read], gather) << "that is what this rank waited for";
}

TEST(CriticalPath, GoesBackOverManyCollectivesFromRankToRank) {
    // Each rank reads before every other collective: both always wait, but never only for their own disk.
    Timeline line{2};
    const int compute = line.add(Engine::compute);
    const int read = line.add(Engine::nvme_read);
    std::vector<int> unchanged, there;
    for (int i = 0; i < 4; ++i) {
        unchanged.push_back(line.add_collective(0));
    }
    const int other_read = line.add(Engine::nvme_read, 1);
    for (int i = 0; i < 4; ++i) {
        there.push_back(line.add_collective(1));
    }
    line.done(unchanged[0], 0, 30, 0);
    line.done(read, 30, 60, 30, unchanged[0]);
    line.done(unchanged[1], 60, 60, 60, read);
    line.done(unchanged[2], 60, 90, 60, unchanged[1]);
    line.done(compute, 90, 100, 90, unchanged[2]);
    line.done(other_read, 0, 30, 0, -1, 1);
    line.done(there[0], 30, 30, 30, other_read, 1);
    line.done(there[1], 30, 60, 30, there[0], 1);
    // The second read of rank 1 is a different op, because the chain only goes back in time.
    const int second_read = line.add(Engine::nvme_read, 1);
    line.done(second_read, 60, 90, 60, there[1], 1);
    line.done(there[2], 90, 90, 90, second_read, 1);

    EXPECT_EQ(line.visitor(0, 100),
              (std::map<int, std::int64_t>{{100 + other_read, 30}, {read, 30}, {100 + second_read, 30}}));
}

TEST(CriticalPath, KeepsACollectiveThatNobodyIsLateFor) {
    Timeline line{2};
    const int compute = line.add(Engine::compute);
    const int gather = line.add_collective(0);
    const int read = line.add(Engine::nvme_read, 1);
    const int gather_present = line.add_collective(1);
    line.done(gather, 20, 50, 0);
    line.done(compute, 50, 60, 50, gather);
    line.done(read, 0, 10, 0, -1, 1);
    line.done(gather_present, 10, 45, 10, read, 1);

    EXPECT_EQ(line.visitor(20, 60), (std::map<int, std::int64_t>{{gather, 30}}));
}

TEST(CriticalPath, NamesWhatTheThreadOfTheLateRankWasAt) {
    Timeline line{2};
    const int compute = line.add(Engine::compute);
    const int gather = line.add_collective(0);
    const int read = line.add(Engine::nvme_read, 1);
    const int gather_present = line.add_collective(1);
    const int compute_there = line.add(Engine::compute, 1);
    line.done(gather, 0, 50, 0);
    line.done(compute, 50, 60, 50, gather);
    line.done(read, -10, 20, -10, -1, 1);
    line.done(compute_there, 5, 45, 0, -1, 1);
    line.worked(compute_there, 5, 45, 1);  // the collective could have begun at 20
    line.done(gather_present, 45, 48, 20, read, 1);

    EXPECT_EQ(line.visitor(0, 60),
              (std::map<int, std::int64_t>{{100 + read, 20}, {100 + compute_there, 25}, {gather, 5}}));
}

TEST(CriticalPath, NamesWhoIsLateForTheEndOfTheStep) {
    Timeline line{2};
    const int end = line.add_step_end();
    const int read = line.add(Engine::nvme_read, 1);
    const int end_there = line.add_step_end(1);
    line.done(end, 10, 60, 10);
    line.done(read, 0, 50, 0, -1, 1);
    line.done(end_there, 55, 58, 50, read, 1);

    const auto times = line.visitor(10, 60);

    EXPECT_EQ(times, (std::map<int, std::int64_t>{{100 + read, 45}, {end, 5}}));
    EXPECT_EQ(line.via[100 + read], end);
}

TEST(CriticalPath, TellsTheStepsOfAnOpApart) {
    Timeline line{2};
    const int compute = line.add(Engine::compute);
    const int gather = line.add_collective(0);
    const int read = line.add(Engine::nvme_read, 1);
    const int gather_present = line.add_collective(1);
    for (line.step = 0; line.step < 5; ++line.step) {
        const auto at = 100 * line.step;
        const auto late = line.step == 4 ? 50 : 0;
        line.done(read, at + 5, at + 10 + late, at + 5, -1, 1);
        line.done(gather_present, at + 10 + late, at + 12 + late, at + 10 + late, read, 1);
    }
    // Rank 1 is already in the next step.
    line.step = 3;
    line.done(gather, 305, 312, 305);
    line.done(compute, 312, 320, 312, gather);

    EXPECT_EQ(line.visitor(305, 320), (std::map<int, std::int64_t>{{100 + read, 5}, {gather, 2}}));
}

TEST(CriticalPath, DoesNotAllocate) {
    Timeline line;
    const int compute = line.add(Engine::compute);
    const int read = line.add(Engine::nvme_read);
    line.done(read, 0, 30);
    line.done(compute, 30, 40, 30, read);
    const auto known = line.times();
    const CriticalPath chain{line.of(0).program, known};
    const CriticalPath::Visitor ignore = [](const CriticalPath::Owner&, std::int64_t, std::int64_t) {};
    const test::CountedAllocations counted;
    chain.split(line.of(0).records, 0, 40, ignore);
    EXPECT_EQ(counted.allocations(), 0);
}

}  // namespace
}  // namespace ziggurat::train
