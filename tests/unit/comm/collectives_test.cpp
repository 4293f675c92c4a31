#include "comm/collectives.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/support/dry_run_collectives.hpp"
#include "tests/support/even_blocks.hpp"

namespace ziggurat::comm {
namespace {

using test::DryRunCollectives;

std::vector<Block> thirds() {
    return {{0, 8}, {8, 0}, {8, 40}};
}

TEST(EvenBlocks, TouchCoverAndRespectTheGranule) {
    for (const std::int64_t elements : {0, 1, 255, 256, 1000, 100'003}) {
        for (const int members : {1, 2, 3, 7}) {
            const auto blocks = test::even_blocks(elements, 4, members, 256);

            ASSERT_EQ(members, std::ssize(blocks));
            std::int64_t offset = 0;
            for (const auto& block : blocks) {
                EXPECT_EQ(offset, block.offset_bytes);
                EXPECT_TRUE(block.bytes == 0 || block.offset_bytes % 1024 == 0);
                EXPECT_LE(block.bytes, (elements / members + 2 * 256) * 4);
                offset = block.end();
            }
            EXPECT_EQ(elements * 4, offset);
        }
    }
}

TEST(DryRunCollectives, CountsWhatEachKindWouldSend) {
    const auto sent = [](CollectiveCall call, int size, int rank) {
        DryRunCollectives collectives{size, rank};
        const int id = collectives.prepare(std::move(call));
        EXPECT_EQ(0, collectives.bytes_moved(id));
        collectives.start(id);
        collectives.start(id);
        EXPECT_TRUE(collectives.poll(id));
        return collectives.bytes_moved(id) / 2;
    };

    EXPECT_EQ(80, sent({.kind = CollectiveKind::all_gather, .blocks = thirds()}, 3, 2));
    EXPECT_EQ(0, sent({.kind = CollectiveKind::all_gather, .blocks = thirds()}, 3, 1));
    EXPECT_EQ(8, sent({.kind = CollectiveKind::reduce_scatter, .blocks = thirds()}, 3, 2));
    EXPECT_EQ(48, sent({.kind = CollectiveKind::reduce_scatter, .blocks = thirds()}, 3, 1));
    EXPECT_EQ(8 + 80, sent({.kind = CollectiveKind::all_reduce, .blocks = thirds()}, 3, 2));
    EXPECT_EQ(
        40, sent({.kind = CollectiveKind::all_to_all, .blocks = thirds(), .output_blocks = thirds()}, 3, 0));
    EXPECT_EQ(24, sent({.kind = CollectiveKind::broadcast, .blocks = {{4, 12}}, .peer = 1}, 3, 1));
    EXPECT_EQ(0, sent({.kind = CollectiveKind::broadcast, .blocks = {{4, 12}}, .peer = 1}, 3, 2));
    EXPECT_EQ(12, sent({.kind = CollectiveKind::send, .blocks = {{4, 12}}, .peer = 1}, 3, 2));
    EXPECT_EQ(0, sent({.kind = CollectiveKind::receive, .blocks = {{4, 12}}, .peer = 1}, 3, 2));
    EXPECT_EQ(0, sent({.kind = CollectiveKind::all_reduce, .blocks = {{0, 400}}}, 1, 0));
}

TEST(DryRunCollectives, VolumesOfEvenBlocksAreThoseOfARing) {
    constexpr int members = 1000;
    const auto blocks = test::even_blocks(1'024'000, 4, members, 256);
    const std::int64_t vector = 1'024'000 * 4;
    std::int64_t total = 0;
    for (const int rank : {0, 1, 500, 999}) {
        DryRunCollectives collectives{members, rank};
        const int id = collectives.prepare({.kind = CollectiveKind::all_reduce, .blocks = blocks});
        collectives.start(id);
        total += collectives.bytes_moved(id);
    }

    EXPECT_EQ(4 * 2 * vector / members * (members - 1), total);
}

TEST(CheckCall, RefusesWhatCannotBeMeant) {
    alignas(64) std::byte memory[256]{};
    const auto refused = [](const CollectiveCall& call) {
        try {
            check_call(call, 3, 2);
        } catch (const Error& error) {
            return std::string{error.what()};
        }
        return std::string{"accepted"};
    };
    using K = CollectiveKind;

    EXPECT_EQ("accepted",
              refused({.kind = K::all_reduce, .input = memory, .output = memory, .blocks = thirds()}));
    EXPECT_NE(std::string::npos,
              refused({.kind = K::all_reduce, .blocks = {{0, 4}}}).find("1 blocks where 3"));
    EXPECT_NE(std::string::npos,
              refused({.kind = K::all_reduce, .blocks = {{0, 4}, {4, 4}, {8, 6}}}).find("splits an element"));
    EXPECT_NE(std::string::npos,
              refused({.kind = K::all_reduce, .input = memory, .output = memory + 4, .blocks = thirds()})
                  .find("overlap"));
    EXPECT_NE(std::string::npos,
              refused({.kind = K::reduce_scatter, .input = memory, .output = memory, .blocks = thirds()})
                  .find("not in place"));
    EXPECT_EQ("accepted", refused({.kind = K::reduce_scatter,
                                   .input = memory,
                                   .output = memory,
                                   .output_offset_bytes = 8,
                                   .blocks = thirds()}));
    EXPECT_NE(std::string::npos,
              refused({.kind = K::all_gather, .input = memory + 4, .output = memory, .blocks = thirds()})
                  .find("not in place"));
    EXPECT_EQ("accepted", refused({.kind = K::all_gather,
                                   .input = memory,
                                   .output = memory,
                                   .input_offset_bytes = 8,
                                   .blocks = thirds()}));
    EXPECT_NE(std::string::npos, refused({.kind = K::all_to_all,
                                          .input = memory,
                                          .output = memory + 8,
                                          .blocks = thirds(),
                                          .output_blocks = thirds()})
                                     .find("overlap"));
    EXPECT_NE(std::string::npos,
              refused({.kind = K::broadcast, .blocks = {{0, 4}}, .peer = 3}).find("peer 3 of 3"));
    EXPECT_NE(std::string::npos, refused({.kind = K::send, .blocks = {{0, 4}}, .peer = 2}).find("to itself"));
}

}  // namespace
}  // namespace ziggurat::comm
