/// Several groups at once. The members of each group share a random order of its calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <memory_resource>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "comm/backoff.hpp"
#include "comm/control.hpp"
#include "comm/make_collectives.hpp"
#include "comm/node/node_memory.hpp"
#include "comm/wait_context.hpp"
#include "tests/mpi/collectives/arena_vectors.hpp"
#include "tests/mpi/collectives/numbered_vectors.hpp"
#include "tests/support/counted_allocations.hpp"
#include "tests/support/dry_run_collectives.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::comm {
namespace {

using namespace ziggurat::test;

/// A group with calls of many kinds and sizes, their memory, and their dry-run counterpart.
class BusyGroup {
  public:
    BusyGroup(std::unique_ptr<Collectives> collectives, ArenaVectors& vectors, int seed)
        : collectives_{std::move(collectives)},
          vectors_{vectors},
          dry_run_{collectives_->size(), collectives_->rank()} {
        std::mt19937 random(static_cast<unsigned>(seed));  // same seed on all members
        for (int i = 0; i < 8; ++i) {
            const std::int64_t unit = i % 4 == 3 ? 8'000 : static_cast<std::int64_t>(random() % 3000);
            add(i % 3, uneven_blocks<float>(collectives_->size(), unit), static_cast<int>(random() % 4));
        }
    }

    int num_calls() const { return static_cast<int>(runs_.size()); }
    Collectives& collectives() { return *collectives_; }
    /// Returns the bytes moved by this member minus those it should send; the sum over members is 0.
    std::int64_t surplus_bytes(int call) const {
        return collectives_->bytes_moved(call) - dry_run_.bytes_moved(call);
    }

    void start(int call) {
        Run& run = *runs_[static_cast<std::size_t>(call)];
        std::copy(run.before.begin(), run.before.end(), run.vector.begin());
        collectives_->start(call);
        dry_run_.start(call);
    }

    void expect_result(int call) const {
        const Run& run = *runs_[static_cast<std::size_t>(call)];
        const Block own = run.blocks[static_cast<std::size_t>(collectives_->rank())];
        const bool is_gather = run.kind == CollectiveKind::all_gather;
        const Block result =
            run.kind == CollectiveKind::reduce_scatter ? own : Block{0, run.blocks.back().end()};
        for (std::int64_t i = result.offset_bytes / 4; i < result.end() / 4; ++i) {
            const float want = is_gather
                                   ? gathered(run.blocks, i)
                                   : expected_sum<float>(collectives_->size(), run.sum_group, i, ragged);
            ASSERT_EQ(want, run.vector[static_cast<std::size_t>(i)]) << "call " << call << ", element " << i;
        }
    }

  private:
    struct Run {
        CollectiveKind kind;
        std::vector<Block> blocks;
        int sum_group;
        std::vector<float> before;
        std::pmr::vector<float> vector;  // in place
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
        const auto before = filled<float>(elements_of<float>(blocks), collectives_->rank(), ragged);
        auto run = std::make_unique<Run>(Run{.kind = kinds[kind],
                                             .blocks = std::move(blocks),
                                             .sum_group = sum_group,
                                             .before = before,
                                             .vector = vectors_(before)});
        const std::int64_t own = run->blocks[static_cast<std::size_t>(collectives_->rank())].offset_bytes;
        const CollectiveCall call{
            .kind = run->kind,
            .input = bytes(run->vector),
            .output = bytes(run->vector),
            .input_offset_bytes = run->kind == CollectiveKind::all_gather ? own : 0,
            .output_offset_bytes = run->kind == CollectiveKind::reduce_scatter ? own : 0,
            .blocks = run->blocks,
            .sum_group = sum_group,
            .label = "busy"};
        collectives_->prepare(call);
        dry_run_.prepare(call);
        runs_.push_back(std::move(run));
    }

    std::unique_ptr<Collectives> collectives_;
    ArenaVectors& vectors_;
    DryRunCollectives dry_run_;
    std::vector<std::unique_ptr<Run>> runs_;
};

/// Transport of the groups' calls.
///
/// Without a watchdog, ranks in shared memory spin, and their counters start close to the wrap-around.
enum class Transport { messages, shared_memory };

NodeMemory::Options options_of(Transport transport) {
    return {.may_share = transport == Transport::shared_memory,
            .wait = transport == Transport::shared_memory ? std::optional{WaitPolicy{0, 0}} : std::nullopt,
            .longest_sleep_ns = 600'000'000'000,  // a lost wake-up would last that long, and be counted
            .first_operation = 0xfffffff0u};
}

/// The group of this rank among: all ranks, pairs, every second rank, all in reverse order.
struct BusyGroups {
    BusyGroups(Transport transport, int seed) : node{world(), options_of(transport)}, vectors{node} {
        const int rank = world().rank();
        const auto add = [&](const Communicator& group) {
            groups.push_back(std::make_unique<BusyGroup>(make_collectives(group, node), vectors,
                                                         seed + static_cast<int>(groups.size())));
        };
        add(world().group());
        add(world().group().split(rank / 2));
        add(world().group().split(rank % 2));
        add(world().group().split(0, -rank));
    }

    NodeMemory node;
    ArenaVectors vectors;
    std::vector<std::unique_ptr<BusyGroup>> groups;
};

/// Starts the calls of every group and polls them at random, with at most four of a group running.
///
/// Members share the order of a group's calls; each rank has its own order of groups.
void run_interleaved(BusyGroups& busy, std::mt19937& shared, std::mt19937& own) {
    auto& groups = busy.groups;
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
    Backoff idle{&busy.node};
    for (int unfinished = 4; unfinished > 0;) {
        // Start the first possible call, from a random group on: a rank that sleeps instead of starting a
        // call would block others.
        const auto first = static_cast<std::size_t>(own() % 4);
        for (std::size_t i = 0; i < 4; ++i) {
            const std::size_t g = (first + i) % 4;
            auto& [order, started, finished] = progress[g];
            if (started < 8 && started - finished < 4) {
                groups[g]->start(order[static_cast<std::size_t>(started++)]);
                idle.reset();
                break;
            }
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

class Interleaving : public ::testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Over,
                         Interleaving,
                         ::testing::Values(Transport::messages, Transport::shared_memory));

TEST_P(Interleaving, ManyGroupsInRandomOrdersGiveExactResultsAndAllocateNothing) {
    BusyGroups busy{GetParam(), 7};
    std::mt19937 shared{5};
    std::mt19937 own{static_cast<unsigned>(world().rank()) + 100};
    for (int round = 0; round < 3; ++round) {
        const CountedAllocations counted;

        run_interleaved(busy, shared, own);

        EXPECT_EQ(0, counted.allocations()) << "in round " << round;
        for (const auto& group : busy.groups) {
            for (int call = 0; call < group->num_calls(); ++call) {
                group->expect_result(call);
            }
        }
        barrier(world());
    }
    EXPECT_EQ(0, busy.node.wait_counts().timeouts);
    std::array<std::int64_t, 4 * 8> surplus{};  // by group and call
    for (std::size_t g = 0; g < 4; ++g) {
        for (int call = 0; call < busy.groups[g]->num_calls(); ++call) {
            surplus[g * 8 + static_cast<std::size_t>(call)] = busy.groups[g]->surplus_bytes(call);
        }
    }
    all_reduce_sum(world(), std::span<std::int64_t>{surplus});
    EXPECT_EQ(surplus, (std::array<std::int64_t, 4 * 8>{}));
}

TEST_P(Interleaving, ALaterCallMayBeAwaitedFirst) {
    BusyGroups busy{GetParam(), 9};
    auto& group = *busy.groups[0];
    const WaitContext unwatched;
    group.start(0);
    group.start(3);
    wait(group.collectives(), 3, unwatched, &busy.node);
    wait(group.collectives(), 0, unwatched, &busy.node);

    group.expect_result(0);
    group.expect_result(3);
}

}  // namespace
}  // namespace ziggurat::comm
