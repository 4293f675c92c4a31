/// Steps of sums of vectors that are longer than the scratch, for all members, without NCCL.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "comm/fold.hpp"
#include "comm/nccl/nccl_steps_cuda.hpp"

namespace ziggurat::comm {
namespace {

constexpr int size = 3;

/// Memory of one member.
struct Member {
    std::vector<float> vector, shard;
    std::vector<std::byte> scratch = std::vector<std::byte>(5000);
    std::vector<NcclStep> steps = {};
};

/// Carries out step `number` of all members: first all messages, then the sums.
void carry_out(std::vector<Member>& members, std::size_t number) {
    std::map<std::pair<int, int>, std::vector<const NcclMessage*>> sent;  // by sender and receiver
    for (int m = 0; m < size; ++m) {
        for (const auto& message : members[m].steps[number].messages) {
            if (message.from != nullptr) {
                sent[{m, message.peer}].push_back(&message);
            }
        }
    }
    for (int m = 0; m < size; ++m) {
        auto& member = members[m];
        const auto& step = member.steps[number];
        for (const auto& message : step.messages) {
            if (message.to == nullptr) {
                continue;
            }
            auto& from = sent[{message.peer, m}];
            ASSERT_FALSE(from.empty()) << "rank " << m << " waits for rank " << message.peer;
            ASSERT_EQ(from.front()->bytes, message.bytes);
            ASSERT_LE(message.to + message.bytes, member.scratch.data() + member.scratch.size());
            std::memcpy(message.to, from.front()->from, static_cast<std::size_t>(message.bytes));
            from.erase(from.begin());
        }
        if (step.kind == NcclStep::Kind::sum) {
            const auto apart =
                NcclScratch{member.scratch.data(), std::ssize(member.scratch)}.piece_bytes(size);
            std::vector<const std::byte*> addends;
            for (int other = 0; other < size; ++other) {
                const auto at = other < m ? other : other - 1;
                addends.push_back(other == m ? step.from : member.scratch.data() + at * apart);
            }
            fold(addends, step.to, step.bytes / std::int64_t{sizeof(float)}, spec::DType::f32, 0);
        }
    }
    for (const auto& [pair, left] : sent) {
        EXPECT_TRUE(left.empty()) << "rank " << pair.second << " does not receive from rank " << pair.first;
    }
}

TEST(NcclSteps, SumsBlocksThatAreLongerThanTheScratchInPieces) {
    const std::vector<Block> blocks{{0, 12'000}, {12'000, 20}, {12'020, 6000}};
    std::vector<Member> members(size);
    for (int m = 0; m < size; ++m) {
        auto& member = members[m];
        for (int i = 0; i < 4505; ++i) {
            member.vector.push_back(static_cast<float>(1000 * m + i % 777));
        }
        member.shard.resize(3000);
        const CollectiveCall call{.kind = CollectiveKind::reduce_scatter,
                                  .input = reinterpret_cast<const std::byte*>(member.vector.data()),
                                  .output = reinterpret_cast<std::byte*>(member.shard.data()),
                                  .blocks = blocks};
        ASSERT_TRUE(needs_scratch(call));
        member.steps = steps_of(call, size, m, {member.scratch.data(), std::ssize(member.scratch)});
    }
    // Pieces have 2304 bytes. The second member receives in the first one only, but sends in all.
    EXPECT_EQ(members[0].steps.size(), 12U);
    EXPECT_EQ(members[1].steps.size(), 7U);
    EXPECT_EQ(members[2].steps.size(), 9U);
    // A member without a sum in a round has only its messages.
    for (auto& member : members) {
        std::vector<NcclStep> rounds;
        for (auto& step : member.steps) {
            if (step.kind == NcclStep::Kind::messages && rounds.size() % 2 == 1) {
                rounds.push_back({.kind = NcclStep::Kind::messages});
            }
            rounds.push_back(std::move(step));
        }
        rounds.resize(12, {.kind = NcclStep::Kind::messages});
        member.steps = std::move(rounds);
    }
    for (std::size_t number = 0; number < 12; ++number) {
        carry_out(members, number);
    }
    for (int m = 0; m < size; ++m) {
        const auto begin = blocks[m].offset_bytes / std::int64_t{sizeof(float)};
        for (std::int64_t i = 0; i < blocks[m].bytes / std::int64_t{sizeof(float)}; ++i) {
            const auto one = static_cast<float>((begin + i) % 777);
            ASSERT_EQ(members[m].shard[static_cast<std::size_t>(i)], 3000 + 3 * one) << m << " " << i;
        }
    }
}

}  // namespace
}  // namespace ziggurat::comm
