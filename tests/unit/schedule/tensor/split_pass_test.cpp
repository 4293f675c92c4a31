#include "schedule/tensor/split_pass.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedule/build_program.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/program_text.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

spec::RunSpec recomputing(bool split, const spec::Home& activations = {}) {
    auto spec = test::small_spec();
    spec.model.layers = 3;
    spec.train.micro_batches = 1;
    spec.parallel.tensor = spec.parallel.ranks = 2;
    spec.recompute.kind = spec::RecomputeKind::full;
    spec.recompute.split = split;
    spec.tiers.activations = activations;
    return spec;
}

constexpr std::int64_t whole_bytes = 2 * 16 * 32 * 4;

TEST(SplitPass, KeepsAPartOfEachInputAndGathersItForBackward) {
    const auto program = build_program(recomputing(true), 0, Variant::train);

    for (const std::string name : {"embedding.x", "layers.0.residual.out", "layers.1.residual.out"}) {
        const int cut = test::index_of(program, name + ", own part");
        const int gathered = test::index_of(program, name + " gathered");
        ASSERT_GE(cut, 0) << name;
        ASSERT_GT(gathered, cut) << name;
        EXPECT_EQ(program.ops[static_cast<std::size_t>(cut)].writes.front().bytes(), whole_bytes / 2);
        EXPECT_EQ(program.ops[static_cast<std::size_t>(gathered)].kind, OpKind::all_gather);
        // Otherwise its memory would be held until backward.
        const int whole = program.ops[static_cast<std::size_t>(cut)].reads.front().buffer;
        for (auto i = static_cast<std::size_t>(gathered); i < program.ops.size(); ++i) {
            for (const auto& operand : program.ops[i].reads) {
                EXPECT_NE(operand.buffer, whole) << program.ops[i].label;
            }
        }
    }
    // The head reads it in forward and backward without other layers in between.
    EXPECT_EQ(test::index_of(program, "layers.2.residual.out, own part"), -1);
}

TEST(SplitPass, RanksKeepPartsThatFollowEachOther) {
    for (int rank = 0; rank < 2; ++rank) {
        const auto program = build_program(recomputing(true), rank, Variant::train);
        const int cut = test::index_of(program, "embedding.x, own part");
        ASSERT_GE(cut, 0);
        EXPECT_EQ(program.ops[static_cast<std::size_t>(cut)].reads.front().runs.front().offset,
                  rank * whole_bytes / 2);
    }
}

TEST(SplitPass, SendsPartsToTheHomeOfActivations) {
    const auto moved = [](bool split) {
        std::int64_t bytes = 0;
        const auto program = build_program(recomputing(split, {0, 1, 0}), 0, Variant::train);
        for (const auto& op : program.ops) {
            bytes += op.purpose == Purpose::state ? op.writes.front().bytes() : 0;
        }
        return bytes;
    };
    EXPECT_GT(moved(true), 0);
    EXPECT_EQ(2 * moved(true), moved(false));
}

TEST(SplitPass, LeavesTheSameValues) {
    const auto fingerprint = [](bool split) {
        const auto spec = recomputing(split);
        const ExpectedResults truth{spec};
        const auto result = simulate(test::programs_of_all_ranks(spec), &truth, {.steps = 2, .seed = 3});
        EXPECT_EQ(result.report(), "");
        return result.fingerprint;
    };
    EXPECT_EQ(fingerprint(true), fingerprint(false));
}

TEST(SplitPass, CutsNothingThatIsTooShortForAPartOnEachRank) {
    Buffer buffer;
    buffer.is_replicated = true;
    buffer.bytes = 5 * 4;
    EXPECT_TRUE(parts_on_tensor_ranks(buffer, 2).empty());
    buffer.bytes = 21 * 4;
    EXPECT_EQ(parts_on_tensor_ranks(buffer, 2), (std::vector<ByteRange>{{0, 64}, {64, 20}}));
    buffer.is_replicated = false;
    EXPECT_TRUE(parts_on_tensor_ranks(buffer, 2).empty());
}

}  // namespace
}  // namespace ziggurat::schedule
