#include "schedule/context/context_ring_pass.hpp"

#include <gtest/gtest.h>

#include <string>

#include "schedule/build_program.hpp"
#include "schedule/volumes/context_volumes.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/context/ring_spec.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns a run of context ranks with one ring, as each node has one of them.
spec::RunSpec on_a_ring(int ranks) {
    return test::on_a_ring(ranks, 1);
}

TEST(ContextRing, SendsKeysAndValuesOnceToEachOtherRankAndTheirGradientsAllTheWayHome) {
    for (const int ranks : {2, 3, 4}) {
        for (int rank = 0; rank < ranks; ++rank) {
            const auto spec = on_a_ring(ranks);
            const auto program = build_program(spec, rank, Variant::train);
            const std::int64_t element_bytes = spec.precision.compute == spec::DType::f32 ? 4 : 2;
            // No other rank needs the last block, which belongs to rank 0: its keys end before the last rank.
            const auto blocks = 2 * (ranks - 1) - (rank + 1 < ranks ? 1 : 0);
            const auto gradients = 2 * ranks - 1;

            // Forward and backward of two layers.
            const auto sent = test::bytes_sent(program, "ring");
            const auto block = test::block_elements(spec);
            EXPECT_EQ(sent.keys, 2 * 2 * blocks * block * element_bytes);
            EXPECT_EQ(sent.gradients, 2 * gradients * block * 4);
            EXPECT_EQ(sent.keys + sent.gradients,
                      context_bytes_by_formula(spec, ModelLayout{spec, rank}).total());
        }
    }
}

TEST(ContextRing, SendsNoBlockThatIsOutsideOfAllWindows) {
    auto spec = on_a_ring(4);
    const auto whole = test::bytes_sent(build_program(spec, 1, Variant::train), "ring");
    spec.model.window = 3;  // of blocks with three positions: only the next block attends to one
    const auto program = build_program(spec, 1, Variant::train);

    const auto sent = test::bytes_sent(program, "ring");
    EXPECT_LT(sent.keys, whole.keys);
    EXPECT_EQ(sent.keys + sent.gradients, context_bytes_by_formula(spec, ModelLayout{spec, 1}).total());
    for (const auto& op : program.ops) {
        const bool is_round = op.kind == OpKind::compute && op.peer >= 0;
        EXPECT_TRUE(!is_round || op.flops > 0) << op.label << " has no work";
    }
}

double attention_flops(const Program& program, int& rounds) {
    double sum = 0;
    rounds = 0;
    for (const auto& op : program.ops) {
        if (op.label.find(".attention ") != std::string::npos && op.flops > 0) {
            sum += op.flops;
            ++rounds;
        }
    }
    return sum;
}

TEST(ContextRing, DoesTheSameWorkInAsManyRoundsAsThereAreRanks) {
    int one = 0;
    int rounds = 0;
    const auto alone = attention_flops(build_program(on_a_ring(1), 0, Variant::train), one);
    for (const int ranks : {2, 3, 4}) {
        for (int rank = 0; rank < ranks; ++rank) {
            const auto shared =
                attention_flops(build_program(on_a_ring(ranks), rank, Variant::train), rounds);
            EXPECT_EQ(rounds, ranks * one);
            EXPECT_NEAR(shared, alone / ranks, 1e-9 * alone) << "rank " << rank << " of " << ranks;
        }
    }
}

TEST(ContextRing, HasTheWorkOfOneRankInAllRanksTogetherWithWindows) {
    auto spec = on_a_ring(1);
    spec.model.window = 7;
    int rounds = 0;
    const auto alone = attention_flops(build_program(spec, 0, Variant::train), rounds);
    spec = on_a_ring(4);
    spec.model.window = 7;
    double sum = 0;
    for (int rank = 0; rank < 4; ++rank) {
        sum += attention_flops(build_program(spec, rank, Variant::train), rounds);
    }
    EXPECT_NEAR(sum, alone, 1e-9 * alone);
}

TEST(ContextRing, EndsUnderEveryOrderOfLanes) {
    for (const int ranks : {2, 3, 5, 6}) {
        auto spec = on_a_ring(ranks);
        spec.data.seq = 60;
        spec.model.max_seq = 60;
        spec.model.window = ranks == 5 ? 8 : 0;
        const ExpectedResults truth{spec};
        const auto programs = test::programs_of_all_ranks(spec);
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            EXPECT_EQ(simulate(programs, &truth, {.seed = seed}).report(), "") << ranks << " ranks";
        }
    }
}

}  // namespace
}  // namespace ziggurat::schedule
