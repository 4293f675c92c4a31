/// Several groups on several emulated nodes, with many calls of each in flight, and slow ranks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/backoff.hpp"
#include "comm/control.hpp"
#include "comm/make_collectives.hpp"
#include "tests/mpi/collectives/numbered_vectors.hpp"
#include "tests/mpi/collectives/shared_vectors.hpp"
#include "tests/support/counted_allocations.hpp"
#include "tests/support/even_blocks.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::comm {
namespace {

using namespace ziggurat::test;
using K = CollectiveKind;

constexpr int num_calls = 9;

/// A group whose calls work in place, each on its own vector, and the expected results.
class BusyGroup {
  public:
    BusyGroup(const Communicator& group, NodeMemory& memory, SharedVectors& vectors, unsigned seed)
        : collectives_{make_collectives(group, memory)} {
        std::mt19937 random{seed};  // same seed on all members
        constexpr K kinds[] = {K::all_reduce, K::reduce_scatter, K::all_gather};
        for (int i = 0; i < num_calls; ++i) {
            const std::int64_t unit =
                i == num_calls - 1 ? 20'000 : static_cast<std::int64_t>(random() % 2000);
            const auto blocks = uneven_blocks<float>(group.size(), unit);
            const int sum_group = static_cast<int>(random() % static_cast<unsigned>(group.size() + 1));
            add(kinds[i % 3], blocks, sum_group, vectors);
        }
        std::iota(order_.begin(), order_.end(), 0);
    }

    /// \param shared  generator with the same state on all members
    void shuffle(std::mt19937& shared) {
        std::shuffle(order_.begin(), order_.end(), shared);
        started_ = 0;
        finished_ = 0;
    }
    bool is_finished() const { return finished_ == num_calls; }

    void start_one() {
        if (started_ < num_calls && started_ - finished_ < 6) {
            const Run& run = runs_[static_cast<std::size_t>(order_[static_cast<std::size_t>(started_)])];
            std::copy(run.before.begin(), run.before.end(), run.vector.begin());
            collectives_->start(order_[static_cast<std::size_t>(started_++)]);
        }
    }
    bool finish_some() {
        const int before = finished_;
        while (finished_ < started_ && collectives_->poll(order_[static_cast<std::size_t>(finished_)])) {
            const Run& run = runs_[static_cast<std::size_t>(order_[static_cast<std::size_t>(finished_)])];
            num_wrong_ += std::equal(run.after.begin(), run.after.end(), run.vector.begin()) ? 0 : 1;
            ++finished_;
        }
        return finished_ != before;
    }
    int num_wrong() const { return num_wrong_; }
    Collectives& collectives() { return *collectives_; }

  private:
    struct Run {
        std::vector<float> before;
        std::vector<float> after;
        std::span<float> vector;
    };

    void add(K kind, const std::vector<Block>& blocks, int sum_group, SharedVectors& vectors) {
        const int size = collectives_->size();
        const int rank = collectives_->rank();
        const Block own = blocks[static_cast<std::size_t>(rank)];
        Run run{.before = filled<float>(elements_of<float>(blocks), rank, ragged), .after = {}, .vector = {}};
        run.after = run.before;
        for (int m = 0; m < size; ++m) {
            const Block& block = blocks[static_cast<std::size_t>(m)];
            for (std::int64_t i = block.offset_bytes / 4; i < block.end() / 4; ++i) {
                if (kind == K::all_gather) {
                    run.after[static_cast<std::size_t>(i)] = ragged(m, i);
                } else if (kind == K::all_reduce || m == rank) {
                    run.after[static_cast<std::size_t>(i)] = expected_sum<float>(size, sum_group, i, ragged);
                }
            }
        }
        run.vector = vectors.take(run.before);
        collectives_->prepare({.kind = kind,
                               .input = bytes(run.vector),
                               .output = bytes(run.vector),
                               .input_offset_bytes = kind == K::all_gather ? own.offset_bytes : 0,
                               .output_offset_bytes = kind == K::reduce_scatter ? own.offset_bytes : 0,
                               .blocks = blocks,
                               .sum_group = sum_group,
                               .label = "busy"});
        runs_.push_back(std::move(run));
    }

    std::unique_ptr<Collectives> collectives_;
    std::vector<Run> runs_;
    std::array<int, num_calls> order_{};
    int started_ = 0;
    int finished_ = 0;
    int num_wrong_ = 0;
};

using Groups = std::vector<std::unique_ptr<BusyGroup>>;

/// Returns the world, pairs, every second rank, and the world in reverse order.
Groups make_groups(NodeMemory& memory, SharedVectors& vectors) {
    const int rank = world().rank();
    Groups groups;
    unsigned seed = 7;
    for (const auto& [color, key] : {std::pair{0, rank}, {rank / 2, rank}, {rank % 2, rank}, {0, -rank}}) {
        groups.push_back(
            std::make_unique<BusyGroup>(world().group().split(color, key), memory, vectors, seed++));
    }
    return groups;
}

void run_all(Groups& groups, std::mt19937& own, NodeMemory& memory) {
    Backoff idle{&memory};
    while (!std::ranges::all_of(groups, &BusyGroup::is_finished)) {
        if (own() % 8 == 0) {
            usleep(static_cast<useconds_t>(own() % 300));
        }
        groups[own() % groups.size()]->start_one();
        bool has_moved = false;
        for (auto& group : groups) {
            has_moved = group->finish_some() || has_moved;
        }
        has_moved ? idle.reset() : idle.idle();
    }
}

TEST(HierarchicalInterleaving, ManyCallsOfManyGroupsKeepTheirBitsAndAllocateNothing) {
    for (int nodes = 2; nodes <= std::min(3, world().size()); ++nodes) {
        NodeMemory memory{world(), {.pretended_nodes = nodes, .first_operation = 0xffff'fff0u}};
        SharedVectors vectors{memory, 32 << 20};
        auto groups = make_groups(memory, vectors);
        std::mt19937 shared{5};
        std::mt19937 own{static_cast<unsigned>(world().rank()) + 100};
        for (int round = 0; round < 4; ++round) {
            for (auto& group : groups) {
                group->shuffle(shared);
            }
            const CountedAllocations counted;

            run_all(groups, own, memory);

            EXPECT_EQ(0, counted.allocations()) << "in round " << round;
            for (const auto& group : groups) {
                EXPECT_EQ(0, group->num_wrong()) << nodes << " nodes, round " << round;
            }
            barrier(world());
        }
    }
}

TEST(HierarchicalInterleaving, NeighboursThatStartDifferentCallsAreToldSo) {
    if (world().size() < 3) {
        return;  // one rank has no neighbour
    }
    NodeMemory memory{world(), {.pretended_nodes = 2}};
    SharedVectors vectors{memory, 1 << 20};
    const auto collectives = make_collectives(world().group(), memory);
    for (const char* label : {"first", "second"}) {
        const auto vector = vectors.take<float>(100);
        collectives->prepare({.kind = K::all_reduce,
                              .input = bytes(vector),
                              .output = bytes(vector),
                              .blocks = test::even_blocks(100, 4, world().size(), 1),
                              .label = label});
    }
    const int call = memory.nodes().rank_in_node == 0 ? 0 : 1;

    const auto run = [&] {
        collectives->start(call);
        Backoff idle{&memory};
        while (!collectives->poll(call)) {
            idle.idle();
        }
    };
    if (memory.nodes().node == 0) {  // the largest node; other nodes do not take part
        EXPECT_THROW(run(), Error);
    }
    barrier(world());
}

}  // namespace
}  // namespace ziggurat::comm
