/// Collectives across emulated nodes against the defined order of sums, and against other
/// implementations.
#include "comm/hierarchical/hierarchical_collectives.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "comm/fold.hpp"
#include "comm/hierarchical/hierarchical_plan.hpp"
#include "comm/make_collectives.hpp"
#include "comm/mpi/mpi_collectives.hpp"
#include "comm/wait_context.hpp"
#include "tests/mpi/collectives/numbered_vectors.hpp"
#include "tests/mpi/collectives/shared_vectors.hpp"
#include "tests/support/bytes_to_move.hpp"
#include "tests/support/even_blocks.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::comm {
namespace {

using tensor::bfloat16;
using namespace ziggurat::test;
using K = CollectiveKind;

const WaitContext unwatched;
constexpr std::int64_t arena_bytes = 24 << 20;

void run(Collectives& collectives, CollectiveCall call) {
    const int id = collectives.prepare(std::move(call));
    collectives.start(id);
    wait(collectives, id, unwatched);
}

/// Returns the expected sum of `ragged` vectors, by the function that defines it.
template <class T>
std::vector<T> folded(int members, std::int64_t elements, int sum_group) {
    std::vector<std::vector<T>> vectors;
    std::vector<const std::byte*> inputs;
    for (int m = 0; m < members; ++m) {
        vectors.push_back(filled<T>(elements, m, ragged));
        inputs.push_back(bytes(vectors.back()));
    }
    std::vector<T> sum(static_cast<std::size_t>(elements));
    fold(inputs, bytes(sum), elements, dtype_of<T>, sum_group);
    return sum;
}

/// Returns blocks of 0, 1, 17 ... elements; one of them has several pieces.
template <class T>
std::vector<Block> blocks_with_a_long_one(int members, int long_one) {
    constexpr std::int64_t sizes[] = {1, 0, 17, 3001, 16};
    std::vector<Block> blocks;
    std::int64_t offset = 0;
    for (int m = 0; m < members; ++m) {
        const std::int64_t elements = m == long_one ? 150'007 : sizes[m % 5];
        blocks.push_back({offset, elements * static_cast<std::int64_t>(sizeof(T))});
        offset = blocks.back().end();
    }
    return blocks;
}

template <class T>
class HierarchicalOf : public ::testing::Test {
  protected:
    /// Calls `body` for the world on 2, 3 and 4 emulated nodes, and for its ranks in reverse order.
    template <class Body>
    static void on_nodes(const Body& body) {
        for (int nodes = 2; nodes <= std::min(4, world().size()); ++nodes) {
            NodeMemory memory{world(), {.pretended_nodes = nodes}};
            SharedVectors vectors{memory, arena_bytes};
            ASSERT_TRUE(memory.is_shared()) << memory.not_shared_reason();
            for (const bool is_reversed : {false, true}) {
                if (is_reversed && nodes > 2) {
                    continue;
                }
                SCOPED_TRACE(std::to_string(nodes) + " nodes" + (is_reversed ? ", in reverse order" : ""));
                const auto group = world().group().split(0, is_reversed ? -world().rank() : world().rank());
                std::vector<int> nodes_of_members;
                for (const int rank : memory.world_ranks_of(group)) {
                    nodes_of_members.push_back(memory.nodes().node_of[static_cast<std::size_t>(rank)]);
                }
                HierarchicalCollectives collectives{group, memory};
                if constexpr (std::is_invocable_v<Body, Collectives&, SharedVectors&>) {
                    body(collectives, vectors);
                } else {
                    body(collectives, vectors, topology_of(nodes_of_members, 0).node_of);
                }
            }
        }
    }

    /// Checks all output modes of the sum.
    static void expect_sums(Collectives& collectives,
                            SharedVectors& vectors,
                            const std::vector<Block>& blocks,
                            int sum_group) {
        const int size = collectives.size();
        const int rank = collectives.rank();
        const std::int64_t elements = elements_of<T>(blocks);
        const Block own = blocks[static_cast<std::size_t>(rank)];
        const auto want = folded<T>(size, elements, sum_group);
        const auto input = filled<T>(elements, rank, ragged);
        SCOPED_TRACE("sum_group " + std::to_string(sum_group) + ", " + std::to_string(elements) +
                     " elements, member " + std::to_string(rank));
        for (const auto kind : {K::reduce_scatter, K::all_reduce}) {
            for (const bool in_place : {false, true}) {
                vectors.clear();
                const auto from = vectors.take(input);
                const bool is_scatter = kind == K::reduce_scatter;
                const Block result = is_scatter ? own : Block{0, blocks.back().end()};
                const auto to = in_place ? from : vectors.take<T>(elements + 1);
                std::fill(to.begin() + (in_place ? std::ssize(to) : 0), to.end(), T{-7.0f});

                run(collectives, {.kind = kind,
                                  .type = dtype_of<T>,
                                  .input = bytes(from),
                                  .output = bytes(to),
                                  .output_offset_bytes = is_scatter && in_place ? own.offset_bytes : 0,
                                  .blocks = blocks,
                                  .sum_group = sum_group,
                                  .label = "sums"});

                const auto first = static_cast<std::size_t>(result.offset_bytes) / sizeof(T);
                const auto count = static_cast<std::size_t>(result.bytes) / sizeof(T);
                const std::size_t at = is_scatter && !in_place ? 0 : first;
                if (count > 0 && std::memcmp(want.data() + first, to.data() + at, count * sizeof(T)) != 0) {
                    std::size_t i = 0;
                    while (want[first + i] == to[at + i]) {
                        ++i;
                    }
                    ADD_FAILURE() << name_of(kind) << (in_place ? " in place" : "") << ": element " << i
                                  << " of " << count << " is " << static_cast<float>(to[at + i]) << ", not "
                                  << static_cast<float>(want[first + i]);
                }
                for (std::size_t i = 0; i < std::size(to); ++i) {
                    const bool is_result = i >= at && i < at + count;
                    if (!is_result && !(in_place ? to[i] == input[i] : to[i] == T{-7.0f})) {
                        ADD_FAILURE() << "element " << i << " is not " << name_of(kind) << "'s to write";
                        break;
                    }
                }
            }
        }
    }
};

using ElementTypes = ::testing::Types<float, bfloat16>;
TYPED_TEST_SUITE(HierarchicalOf, ElementTypes);

TYPED_TEST(HierarchicalOf, SumsHaveTheBitsOfFoldInEveryOrder) {
    this->on_nodes([](Collectives& collectives, SharedVectors& vectors) {
        for (int sum_group = 0; sum_group <= collectives.size(); ++sum_group) {
            for (const std::int64_t unit : {0, 5, 101}) {
                TestFixture::expect_sums(collectives, vectors,
                                         uneven_blocks<TypeParam>(collectives.size(), unit), sum_group);
            }
        }
    });
}

TYPED_TEST(HierarchicalOf, BlocksOfManyPiecesAreSummedPieceByPiece) {
    this->on_nodes([](Collectives& collectives, SharedVectors& vectors) {
        const int size = collectives.size();
        const int last = size - 1;
        TestFixture::expect_sums(collectives, vectors, blocks_with_a_long_one<TypeParam>(size, 0), 2);
        TestFixture::expect_sums(collectives, vectors, blocks_with_a_long_one<TypeParam>(size, last),
                                 size % 3 == 0 ? 3 : 1);
    });
}

TYPED_TEST(HierarchicalOf, AllGatherPutsEachBlockInItsPlace) {
    using T = TypeParam;
    this->on_nodes([](Collectives& collectives, SharedVectors& vectors) {
        const int size = collectives.size();
        const auto me = static_cast<std::size_t>(collectives.rank());
        for (const bool in_place : {false, true}) {
            for (const auto& blocks : {uneven_blocks<T>(size, 0), uneven_blocks<T>(size, 101),
                                       blocks_with_a_long_one<T>(size, size / 2)}) {
                vectors.clear();
                const auto whole = filled<T>(elements_of<T>(blocks), 3, ragged);
                const auto first = whole.begin() + blocks[me].offset_bytes / std::int64_t{sizeof(T)};
                const std::vector<T> own(first, first + blocks[me].bytes / std::int64_t{sizeof(T)});
                const auto output = vectors.take<T>(std::ssize(whole));
                std::fill(output.begin(), output.end(), T{-7.0f});
                const auto shard = vectors.take(own);
                if (in_place) {
                    std::copy(own.begin(), own.end(),
                              output.begin() + blocks[me].offset_bytes / std::int64_t{sizeof(T)});
                }

                run(collectives, {.kind = K::all_gather,
                                  .type = dtype_of<T>,
                                  .input = in_place ? bytes(output) : bytes(shard),
                                  .output = bytes(output),
                                  .input_offset_bytes = in_place ? blocks[me].offset_bytes : 0,
                                  .blocks = blocks,
                                  .label = "gather"});

                EXPECT_EQ(whole, std::vector<T>(output.begin(), output.end()));
            }
        }
    });
}

using HierarchicalOfFloats = HierarchicalOf<float>;

TEST_F(HierarchicalOfFloats, BroadcastReachesAllFromAnyRoot) {
    on_nodes([](Collectives& collectives, SharedVectors& vectors) {
        for (int root = 0; root < collectives.size(); ++root) {
            for (const std::int64_t elements : {0, 1, 300'003}) {
                vectors.clear();
                const auto vector = vectors.take(filled<float>(elements + 2, collectives.rank(), numbered));

                run(collectives, {.kind = K::broadcast,
                                  .input = bytes(vector),
                                  .output = bytes(vector),
                                  .blocks = {{4, elements * 4}},
                                  .peer = root,
                                  .label = "broadcast"});

                EXPECT_EQ(numbered(collectives.rank(), 0), vector.front());
                EXPECT_EQ(numbered(collectives.rank(), elements + 1), vector.back());
                for (std::int64_t i = 1; i <= elements; i += 1 + elements / 7) {
                    ASSERT_EQ(numbered(root, i), vector[static_cast<std::size_t>(i)]);
                }
            }
        }
    });
}

TEST_F(HierarchicalOfFloats, AllToAllTransposesBlocksOfAnySize) {
    on_nodes([](Collectives& collectives, SharedVectors& vectors) {
        // Member r sends (r + 2 m) % 4 * 301 elements to member m.
        const auto count = [](int from, int to) { return (from + 2 * to) % 4 * 301; };
        const int rank = collectives.rank();
        std::vector<Block> blocks;
        std::vector<Block> output_blocks;
        std::int64_t sent = 0;
        std::int64_t received = 0;
        for (int m = 0; m < collectives.size(); ++m) {
            blocks.push_back({sent, count(rank, m) * 4});
            sent += blocks.back().bytes;
            output_blocks.push_back({received, count(m, rank) * 4});
            received += output_blocks.back().bytes;
        }
        vectors.clear();
        const auto input = vectors.take(filled<float>(sent / 4, rank, numbered));
        const auto output = vectors.take<float>(received / 4);

        run(collectives, {.kind = K::all_to_all,
                          .input = bytes(input),
                          .output = bytes(output),
                          .blocks = blocks,
                          .output_blocks = output_blocks,
                          .label = "transpose"});

        for (int from = 0; from < collectives.size(); ++from) {
            std::int64_t first = 0;  // offset of this member's block in the vector of `from`
            for (int m = 0; m < rank; ++m) {
                first += count(from, m);
            }
            const std::int64_t at = output_blocks[static_cast<std::size_t>(from)].offset_bytes / 4;
            for (std::int64_t i = 0; i < count(from, rank); ++i) {
                ASSERT_EQ(numbered(from, first + i), output[static_cast<std::size_t>(at + i)]) << from;
            }
        }
    });
}

TEST_F(HierarchicalOfFloats, EveryImplementationGivesTheSameBits) {
    const std::int64_t elements = 20'011;
    const auto blocks = test::even_blocks(elements, 4, world().size(), 16);
    for (int sum_group = 0; sum_group <= world().size(); ++sum_group) {
        std::vector<std::vector<float>> sums;
        for (const int nodes : {1, 2, 0}) {
            NodeMemory memory{world(), {.pretended_nodes = nodes, .may_share = nodes > 0}};
            SharedVectors vectors{memory, arena_bytes};
            const auto vector = vectors.take(filled<float>(elements, world().rank(), ragged));
            const auto collectives = make_collectives(world().group(), memory);
            const bool is_hierarchical = dynamic_cast<HierarchicalCollectives*>(collectives.get()) != nullptr;
            EXPECT_EQ(nodes == 2 && world().size() > 2, is_hierarchical);

            run(*collectives, {.kind = K::all_reduce,
                               .input = bytes(vector),
                               .output = bytes(vector),
                               .blocks = blocks,
                               .sum_group = sum_group,
                               .label = "sums"});

            sums.emplace_back(vector.begin(), vector.end());
        }
        EXPECT_EQ(sums[0], sums[1]) << "shared memory and hierarchical, sum_group " << sum_group;
        EXPECT_EQ(sums[0], sums[2]) << "shared memory and MPI, sum_group " << sum_group;
    }
}

TEST_F(HierarchicalOfFloats, CountsWhatThePlanSaysAndAllTogetherWhatARingMoves) {
    on_nodes([](Collectives& collectives, SharedVectors& vectors, const std::vector<int>& node_of) {
        const int size = collectives.size();
        const auto blocks = blocks_with_a_long_one<float>(size, 1);
        const std::vector<Block> even(static_cast<std::size_t>(size), Block{0, 400});
        const std::int64_t ring = (size - 1) * blocks.back().end();
        vectors.clear();
        const auto input = vectors.take<float>(elements_of<float>(blocks));
        const auto output = vectors.take<float>(elements_of<float>(blocks));
        const auto expect_bytes = [&](CollectiveCall call, std::int64_t of_all) {
            call.input = bytes(input);
            call.output = bytes(output);
            call.sum_group = 2;
            call.label = "counted";
            const std::int64_t planned =
                bytes_to_move(HierarchicalPlan{node_of, call.sum_group}, call, collectives.rank());
            const int id = collectives.prepare(call);
            for (int times = 1; times <= 2; ++times) {
                collectives.start(id);
                wait(collectives, id, unwatched);
                std::int64_t total = collectives.bytes_moved(id);
                EXPECT_EQ(times * planned, total) << name_of(call.kind);
                MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_INT64_T, MPI_SUM, world().group().native());

                EXPECT_EQ(times * of_all, total) << name_of(call.kind);
            }
        };
        expect_bytes({.kind = K::reduce_scatter, .blocks = blocks}, ring);
        expect_bytes({.kind = K::reduce_scatter, .type = spec::DType::bf16, .blocks = blocks}, ring);
        expect_bytes({.kind = K::all_gather, .blocks = blocks}, ring);
        expect_bytes({.kind = K::all_reduce, .blocks = blocks}, 2 * ring);
        expect_bytes({.kind = K::all_to_all, .blocks = even, .output_blocks = even}, size * (size - 1) * 400);
        expect_bytes({.kind = K::broadcast, .blocks = {{0, 4000}}, .peer = size - 1}, (size - 1) * 4000);
    });
}

TEST_F(HierarchicalOfFloats, VectorsOutsideOfSharedMemoryGoByMessages) {
    on_nodes([](Collectives& collectives, SharedVectors& vectors) {
        vectors.clear();
        const int size = collectives.size();
        const std::int64_t elements = 5003;
        const auto input = filled<float>(elements, collectives.rank(), ragged);
        auto apart = input;
        const auto shared = vectors.take(input);
        const bool is_apart = collectives.rank() == size - 1;
        std::byte* vector = is_apart ? bytes(apart) : bytes(shared);

        run(collectives, {.kind = K::all_reduce,
                          .input = vector,
                          .output = vector,
                          .blocks = test::even_blocks(elements, 4, size, 1),
                          .sum_group = 2,
                          .label = "sums"});

        const auto want = folded<float>(size, elements, 2);
        EXPECT_EQ(0, std::memcmp(want.data(), vector, static_cast<std::size_t>(elements) * 4));
    });
}

TEST_F(HierarchicalOfFloats, MessagesBetweenTwoReachTheirMember) {
    on_nodes([](Collectives& collectives, SharedVectors& vectors) {
        vectors.clear();
        const int size = collectives.size();
        const int rank = collectives.rank();
        const auto mine = vectors.take(filled<float>(3000, rank, numbered));
        const auto theirs = vectors.take<float>(3000);
        const int send = collectives.prepare({.kind = K::send,
                                              .input = bytes(mine),
                                              .blocks = {{0, 12'000}},
                                              .peer = (rank + 1) % size,
                                              .label = "message"});
        const int receive = collectives.prepare({.kind = K::receive,
                                                 .output = bytes(theirs),
                                                 .blocks = {{0, 12'000}},
                                                 .peer = (rank - 1 + size) % size,
                                                 .label = "message"});

        collectives.start(send);
        collectives.start(receive);
        wait(collectives, receive, unwatched);
        wait(collectives, send, unwatched);

        EXPECT_EQ(numbered((rank - 1 + size) % size, 2999), theirs.back());
    });
}

}  // namespace
}  // namespace ziggurat::comm
