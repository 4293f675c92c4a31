/// Collectives of vectors in the memory of a device with delayed streams, against those of the host.
#include "comm/staged_collectives.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/make_collectives.hpp"
#include "comm/node/node_memory.hpp"
#include "comm/wait_context.hpp"
#include "device/copy.hpp"
#include "device/emulated/emulated_device.hpp"
#include "tests/mpi/collectives/numbered_vectors.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::comm {
namespace {

using namespace ziggurat::test;
using Bytes = std::vector<std::byte>;

const WaitContext unwatched;
constexpr std::int64_t arena_bytes = std::int64_t{4} << 20;
/// Offset of outputs that are not in place.
constexpr std::int64_t apart = std::int64_t{2} << 20;
constexpr std::int64_t calls_at_once = 4;
constexpr std::int64_t bytes_of_one = arena_bytes / calls_at_once;

/// The same group twice: with host vectors, and with device vectors.
class Staged : public ::testing::TestWithParam<bool> {
  protected:
    Staged() {
        node.share(of_host);
        node.share(of_device.front());
        on_host = make_collectives(world().group(), node);
        staged = std::make_unique<StagedCollectives>(make_collectives(world().group(), node), of_device,
                                                     device.make_stream(), node);
    }

    void put(const Bytes& contents) {
        std::memcpy(of_host.data(), contents.data(), contents.size());
        device::copy(copies, of_device.front().data(), contents.data(), std::ssize(contents));
        copies.finish();
    }
    Bytes on_device() const {
        Bytes contents(arena_bytes);
        device::copy(copies, contents.data(), of_device.front().data(), arena_bytes);
        copies.finish();
        return contents;
    }
    Bytes host_contents() const { return {of_host.data(), of_host.data() + arena_bytes}; }

    /// Returns `call` with addresses relative to the arena's start made absolute.
    static CollectiveCall within(const device::Arena& arena, CollectiveCall call) {
        call.input = arena.data() + (call.input - static_cast<const std::byte*>(nullptr));
        call.output = arena.data() + (call.output - static_cast<const std::byte*>(nullptr));
        return call;
    }

    NodeMemory node{world(), {.may_share = GetParam()}};
    device::EmulatedDevice device{{.seed = static_cast<std::uint64_t>(world().rank()) + 3}};
    std::vector<device::Arena> of_device = make_arenas(device);
    device::Arena of_host{arena_bytes, "vectors of a test", device::Arena::Kind::shared};
    device::Stream copies = device.make_stream();
    std::unique_ptr<Collectives> on_host;
    std::unique_ptr<StagedCollectives> staged;

  private:
    static std::vector<device::Arena> make_arenas(device::Device& device) {
        std::vector<device::Arena> arenas;
        arenas.push_back(device.reserve(arena_bytes, "vectors of a test", device::Arena::Kind::shared));
        return arenas;
    }
};
INSTANTIATE_TEST_SUITE_P(Over, Staged, ::testing::Values(false, true), [](const auto& over) {
    return std::string{over.param ? "SharedMemory" : "Messages"};
});

/// Returns floats of this rank that fill an arena.
Bytes numbers(int of_rank) {
    const auto values = filled<float>(arena_bytes / 4, of_rank, ragged);
    Bytes contents(arena_bytes);
    std::memcpy(contents.data(), values.data(), contents.size());
    return contents;
}

std::byte* position(std::int64_t offset) {
    return static_cast<std::byte*>(nullptr) + offset;
}

/// Returns blocks with gaps between them; one of them is empty.
std::vector<Block> scattered_blocks(int members, std::int64_t unit) {
    auto blocks = uneven_blocks<float>(members, unit);
    for (std::size_t m = 0; m < blocks.size(); ++m) {
        blocks[m].offset_bytes += 8 * static_cast<std::int64_t>(m / 2);
    }
    return blocks;
}

/// Returns every kind of call, in place and not. Messages go around a ring.
std::vector<std::vector<CollectiveCall>> all_calls(int members, int rank) {
    const auto blocks = scattered_blocks(members, 2000);
    const Block own = blocks[static_cast<std::size_t>(rank)];
    const auto even = std::vector<Block>(1, Block{12, 4000});
    std::vector<std::vector<CollectiveCall>> all;
    for (const bool in_place : {true, false}) {
        const auto to = position(in_place ? 0 : apart);
        all.push_back({{.kind = CollectiveKind::all_gather,
                        .input = position(0),
                        .output = to,
                        .input_offset_bytes = in_place ? own.offset_bytes : 100,
                        .blocks = blocks,
                        .label = "gather"}});
        all.push_back({{.kind = CollectiveKind::reduce_scatter,
                        .input = position(0),
                        .output = to,
                        .output_offset_bytes = in_place ? own.offset_bytes : 100,
                        .blocks = blocks,
                        .label = "scatter"}});
        all.push_back({{.kind = CollectiveKind::all_reduce,
                        .input = position(0),
                        .output = to,
                        .blocks = blocks,
                        .label = "reduce"}});
        all.push_back({{.kind = CollectiveKind::broadcast,
                        .input = position(0),
                        .output = to,
                        .blocks = even,
                        .peer = members - 1,
                        .label = "broadcast"}});
    }
    if (members > 1) {
        all.push_back({{.kind = CollectiveKind::receive,
                        .output = position(apart),
                        .blocks = even,
                        .peer = (rank + members - 1) % members,
                        .label = "message"},
                       {.kind = CollectiveKind::send,
                        .input = position(0),
                        .blocks = even,
                        .peer = (rank + 1) % members,
                        .label = "message"}});
    }
    return all;
}

TEST_P(Staged, EveryKindLeavesOnADeviceWhatItLeavesOnTheHost) {
    for (const auto& calls : all_calls(world().size(), world().rank())) {
        put(numbers(world().rank()));
        for (const bool is_staged : {false, true}) {
            Collectives& collectives = is_staged ? *staged : *on_host;
            std::vector<int> running;
            for (const auto& call : calls) {
                running.push_back(collectives.prepare(within(is_staged ? of_device.front() : of_host, call)));
                collectives.start(running.back());
            }
            for (const int call : running) {
                wait(collectives, call, unwatched, &node);
            }
        }
        EXPECT_TRUE(on_device() == host_contents()) << calls.front().label;
    }
}

TEST_P(Staged, CallsBeginInTheirOrderHoweverTheirCopiesEnd) {
    const auto blocks = uneven_blocks<float>(world().size(), 3000);
    std::vector<int> calls;
    for (std::int64_t i = 0; i < calls_at_once; ++i) {
        calls.push_back(staged->prepare(within(of_device.front(), {.kind = CollectiveKind::all_reduce,
                                                                   .input = position(i * bytes_of_one),
                                                                   .output = position(i * bytes_of_one),
                                                                   .blocks = blocks,
                                                                   .label = "one of many"})));
    }
    for (int round = 0; round < 20; ++round) {
        put(numbers(world().rank()));
        for (const int call : calls) {
            staged->start(call);
        }
        // Each rank waits for a different call first.
        for (std::size_t i = 0; i < calls.size(); ++i) {
            wait(*staged, calls[(i + static_cast<std::size_t>(world().rank() + round)) % calls.size()],
                 unwatched, &node);
        }
        const auto contents = on_device();
        for (std::int64_t i = 0; i < calls_at_once; ++i) {
            for (const std::int64_t element : {std::int64_t{0}, elements_of<float>(blocks) - 1}) {
                float got = 0;
                std::memcpy(&got, contents.data() + i * bytes_of_one + 4 * element, 4);
                const auto at = i * bytes_of_one / 4 + element;
                EXPECT_EQ(got, expected_sum<float>(world().size(), 0, at, ragged)) << "call " << i;
            }
        }
    }
}

TEST_P(Staged, VectorsOfTheHostGoTheirUsualWay) {
    put(numbers(world().rank()));
    const auto blocks = uneven_blocks<float>(world().size(), 100);
    const auto before = on_device();
    const int call = staged->prepare(within(of_host, {.kind = CollectiveKind::all_reduce,
                                                      .input = position(0),
                                                      .output = position(0),
                                                      .blocks = blocks,
                                                      .label = "of the host"}));
    staged->start(call);
    wait(*staged, call, unwatched, &node);
    float got = 0;
    std::memcpy(&got, of_host.data() + 4, 4);
    EXPECT_EQ(got, expected_sum<float>(world().size(), 0, 1, ragged));
    EXPECT_TRUE(on_device() == before);
}

}  // namespace
}  // namespace ziggurat::comm
