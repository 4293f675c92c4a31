/// Several groups at once, calls of each in an order that all members know and nobody else.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "comm/abort_flag.hpp"
#include "comm/control.hpp"
#include "comm/dry_run_collectives.hpp"
#include "comm/idle_wait.hpp"
#include "comm/mpi_collectives.hpp"
#include "tests/mpi/numbered_vectors.hpp"
#include "tests/support/rank_test.hpp"

namespace {
std::size_t num_allocations = 0;
}

void* operator new(std::size_t bytes) {
    ++num_allocations;
    if (void* memory = std::malloc(bytes)) {
        return memory;
    }
    throw std::bad_alloc{};
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace ziggurat::comm {
namespace {

using namespace ziggurat::test;

/// A group with calls of many kinds and sizes, their memory and their dry-run twin.
class BusyGroup {
  public:
    BusyGroup(const Communicator& group, int seed)
        : collectives_{group}, dry_run_{group.size(), group.rank()} {
        std::mt19937 random(static_cast<unsigned>(seed));  // the same on all members
        for (int i = 0; i < 8; ++i) {
            const std::int64_t unit = i % 4 == 3 ? 30'000 : static_cast<std::int64_t>(random() % 3000);
            add(i % 3, uneven_blocks<float>(group.size(), unit), static_cast<int>(random() % 4));
        }
    }

    int num_calls() const { return static_cast<int>(runs_.size()); }
    Collectives& collectives() { return collectives_; }
    std::int64_t bytes_expected(int call) const { return dry_run_.bytes_moved(call); }

    void start(int call) {
        Run& run = *runs_[static_cast<std::size_t>(call)];
        std::copy(run.before.begin(), run.before.end(), run.vector.begin());
        collectives_.start(call);
        dry_run_.start(call);
    }

    void expect_result(int call) const {
        const Run& run = *runs_[static_cast<std::size_t>(call)];
        const Block own = run.blocks[static_cast<std::size_t>(collectives_.rank())];
        const bool is_gather = run.kind == CollectiveKind::all_gather;
        const Block result =
            run.kind == CollectiveKind::reduce_scatter ? own : Block{0, run.blocks.back().end()};
        for (std::int64_t i = result.offset_bytes / 4; i < result.end() / 4; ++i) {
            const float want = is_gather ? gathered(run.blocks, i)
                                         : expected_sum<float>(collectives_.size(), run.sum_group, i, ragged);
            ASSERT_EQ(want, run.vector[static_cast<std::size_t>(i)]) << "call " << call << ", element " << i;
        }
    }

  private:
    struct Run {
        CollectiveKind kind;
        std::vector<Block> blocks;
        int sum_group;
        std::vector<float> before;
        std::vector<float> vector;  // in place
    };

    static float gathered(const std::vector<Block>& blocks, std::int64_t i) {
        int member = 0;
        while (blocks[static_cast<std::size_t>(member)].end() <= 4 * i) {
            ++member;
        }
        return ragged(member, i);
    }

    void add(int kind, std::vector<Block> blocks, int sum_group) {
        constexpr CollectiveKind kinds[] = {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter,
                                            CollectiveKind::all_gather};
        auto run = std::make_unique<Run>(Run{.kind = kinds[kind],
                                             .blocks = std::move(blocks),
                                             .sum_group = sum_group,
                                             .before = {},
                                             .vector = {}});
        run->before = filled<float>(elements_of<float>(run->blocks), collectives_.rank(), ragged);
        run->vector = run->before;
        const std::int64_t own = run->blocks[static_cast<std::size_t>(collectives_.rank())].offset_bytes;
        const CollectiveCall call{
            .kind = run->kind,
            .input = bytes(run->vector),
            .output = bytes(run->vector),
            .input_offset_bytes = run->kind == CollectiveKind::all_gather ? own : 0,
            .output_offset_bytes = run->kind == CollectiveKind::reduce_scatter ? own : 0,
            .blocks = run->blocks,
            .sum_group = sum_group,
            .label = "busy"};
        collectives_.prepare(call);
        dry_run_.prepare(call);
        runs_.push_back(std::move(run));
    }

    MpiCollectives collectives_;
    DryRunCollectives dry_run_;
    std::vector<std::unique_ptr<Run>> runs_;
};

std::vector<std::unique_ptr<BusyGroup>> make_groups(int seed) {
    const int rank = world().rank();
    std::vector<std::unique_ptr<BusyGroup>> groups;
    const auto add = [&](const Communicator& group) {
        groups.push_back(std::make_unique<BusyGroup>(group, seed + static_cast<int>(groups.size())));
    };
    add(world());
    add(world().split(rank / 2));
    add(world().split(rank % 2));
    add(world().split(0, -rank));
    return groups;
}

/// Starts the calls of every group in an order that its members share and groups in an order that is this
/// rank's own; looks after them at random; keeps up to four of a group running.
void run_interleaved(std::vector<std::unique_ptr<BusyGroup>>& groups,
                     std::mt19937& shared,
                     std::mt19937& own) {
    struct Progress {
        std::array<int, 8> order{};
        int started = 0;
        int finished = 0;
    };
    std::array<Progress, 4> progress;
    for (auto& [order, started, finished] : progress) {
        for (int i = 0; i < 8; ++i) {
            order[static_cast<std::size_t>(i)] = i;
        }
        std::shuffle(order.begin(), order.end(), shared);
    }
    IdleWait idle;
    for (int unfinished = 4; unfinished > 0;) {
        const auto g = static_cast<std::size_t>(own() % 4);
        auto& [order, started, finished] = progress[g];
        if (started < 8 && started - finished < 4) {
            groups[g]->start(order[static_cast<std::size_t>(started++)]);
            idle.reset();
        }
        bool has_moved = false;
        for (std::size_t other = 0; other < 4; ++other) {
            auto& at = progress[other];
            while (at.finished < at.started &&
                   groups[other]->collectives().poll(at.order[static_cast<std::size_t>(at.finished)])) {
                has_moved = true;
                unfinished -= ++at.finished == 8 ? 1 : 0;
            }
        }
        has_moved ? idle.reset() : idle.idle();
    }
}

TEST(Interleaving, ManyGroupsInRandomOrdersGiveExactResultsAndAllocateNothing) {
    auto groups = make_groups(7);
    std::mt19937 shared{5};
    std::mt19937 own{static_cast<unsigned>(world().rank()) + 100};
    for (int round = 0; round < 3; ++round) {
        const std::size_t allocations_before = num_allocations;

        run_interleaved(groups, shared, own);

        EXPECT_EQ(allocations_before, num_allocations) << "in round " << round;
        for (const auto& group : groups) {
            for (int call = 0; call < group->num_calls(); ++call) {
                group->expect_result(call);
            }
        }
        barrier(world());
    }
    for (const auto& group : groups) {
        for (int call = 0; call < group->num_calls(); ++call) {
            EXPECT_EQ(group->bytes_expected(call), group->collectives().bytes_moved(call)) << "call " << call;
        }
    }
}

TEST(Interleaving, ALaterCallMayBeAwaitedFirst) {
    auto groups = make_groups(9);
    auto& group = *groups[0];
    const AbortFlag never;
    group.start(0);
    group.start(3);
    wait(group.collectives(), 3, never);
    wait(group.collectives(), 0, never);

    group.expect_result(0);
    group.expect_result(3);
}

}  // namespace
}  // namespace ziggurat::comm
