#include "schedule/tensor/tensor_pieces_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedule/build_program.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

constexpr int ranks = 4;

spec::RunSpec in_pieces(bool pieces, bool sequence, const std::string& family = "llama") {
    auto spec = test::small_spec(family);
    spec.model.kv_heads = 4;
    spec.train.micro_batches = 1;
    spec.parallel.tensor = spec.parallel.ranks = ranks;
    spec.parallel.sequence = sequence;
    spec.overlap.tensor_pieces = pieces;
    return spec;
}

struct Counted {
    int ops = 0;
    std::int64_t bytes = 0;
};

Counted tensor_collectives(const Program& program, OpKind kind) {
    Counted counted;
    for (const auto& op : program.ops) {
        if (op.purpose == Purpose::tensor && op.kind == kind) {
            ++counted.ops;
            for (const auto& block : op.blocks) {
                counted.bytes += block.bytes;
            }
        }
    }
    return counted;
}

bool is_cut(const Op& op) {
    return op.label.find(", rows of rank ") != std::string::npos;
}

TEST(TensorPieces, MoveTheSameBytesInMoreCollectives) {
    for (const bool sequence : {false, true}) {
        const auto whole = build_program(in_pieces(false, sequence), 1, Variant::train);
        const auto cut = build_program(in_pieces(true, sequence), 1, Variant::train);
        for (const auto kind : {OpKind::all_gather, OpKind::reduce_scatter, OpKind::all_reduce}) {
            EXPECT_EQ(tensor_collectives(cut, kind).bytes, tensor_collectives(whole, kind).bytes);
        }
        // A layer has two gathers and two sums in forward. In backward, only the two gathers of gradients of
        // outputs are cut, because products for weights hide the other collectives.
        const int each = ranks - 1;
        EXPECT_EQ(tensor_collectives(cut, OpKind::reduce_scatter).ops,
                  tensor_collectives(whole, OpKind::reduce_scatter).ops + (sequence ? 2 * each : 0));
        EXPECT_EQ(tensor_collectives(cut, OpKind::all_gather).ops,
                  tensor_collectives(whole, OpKind::all_gather).ops + (sequence ? 4 * each : 0));
        EXPECT_EQ(tensor_collectives(cut, OpKind::all_reduce).ops,
                  tensor_collectives(whole, OpKind::all_reduce).ops + (sequence ? 0 : 2 * each));
    }
}

TEST(TensorPieces, BeginWithOwnRowsWithoutACollective) {
    for (int rank = 0; rank < ranks; ++rank) {
        const auto program = build_program(in_pieces(true, true), rank, Variant::train);
        const auto first = std::ranges::find_if(
            program.ops, [](const Op& op) { return op.kind == OpKind::compute && is_cut(op); });
        ASSERT_NE(first, program.ops.end());
        const std::int64_t rows = 2 * 16 / ranks;
        EXPECT_EQ(first->row_begin, rank * rows);
        EXPECT_EQ(first->row_end, (rank + 1) * rows);
        for (const auto wait : first->waits_for) {
            EXPECT_FALSE(is_collective(program.ops[wait].kind)) << program.ops[wait].label;
        }
        // The next one waits for a collective of one block.
        const auto next = std::next(first);
        EXPECT_EQ(next->row_begin, (rank == 0 ? 1 : 0) * rows);
        EXPECT_TRUE(std::ranges::any_of(next->waits_for, [&](OpId wait) {
            return program.ops[wait].kind == OpKind::all_gather && is_cut(program.ops[wait]);
        }));
    }
}

TEST(TensorPieces, SumRowsWhileTheNextRowsAreComputed) {
    for (const bool sequence : {false, true}) {
        const auto program = build_program(in_pieces(true, sequence), 2, Variant::train);
        const auto sum = std::ranges::find_if(program.ops, [](const Op& op) {
            return is_sum(op.kind) && op.purpose == Purpose::tensor && is_cut(op);
        });
        ASSERT_NE(sum, program.ops.end());
        const auto product = std::prev(sum);
        const auto next = std::next(sum);
        EXPECT_EQ(product->row_begin, 0);
        EXPECT_EQ(next->row_begin, product->row_end);
        EXPECT_EQ(next->kind, OpKind::compute);
        const OpId at = static_cast<int>(sum - program.ops.begin());
        EXPECT_TRUE(std::ranges::find(next->waits_for, at) == next->waits_for.end());
    }
}

TEST(TensorPieces, KeepTheFlopsOfAStep) {
    const auto flops = [](bool pieces) {
        double sum = 0;
        for (const auto& op : build_program(in_pieces(pieces, true), 0, Variant::train).ops) {
            sum += op.flops;
        }
        return sum;
    };
    EXPECT_DOUBLE_EQ(flops(true), flops(false));
}

TEST(TensorPieces, AreCorrectStepsOnAllRanks) {
    for (const std::string family : {"gpt2", "llama", "gemma2"}) {
        for (const bool sequence : {false, true}) {
            for (const auto kind : {spec::RecomputeKind::none, spec::RecomputeKind::full}) {
                auto spec = in_pieces(true, sequence, family);
                spec.recompute.kind = kind;
                const ExpectedResults truth{spec};
                const auto programs = test::programs_of_all_ranks(spec);
                EXPECT_EQ(simulate(programs, &truth, {.steps = 2, .seed = 3}).report(), "") << family;
            }
        }
    }
}

}  // namespace
}  // namespace ziggurat::schedule
