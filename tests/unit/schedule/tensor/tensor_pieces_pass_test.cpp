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

/// Returns a run whose head has three blocks of at most 1024 rows.
spec::RunSpec with_three_blocks(bool pieces, bool sequence) {
    auto spec = in_pieces(pieces, sequence);
    spec.model.layers = 1;
    spec.data.seq = spec.model.max_seq = 1100;
    return spec;
}

bool is_block_of_head(const Op& op, Direction direction) {
    return op.kind == OpKind::compute && op.direction == direction &&
           op.label.find("logits") != std::string::npos && op.flops > 0;
}

TEST(TensorPieces, GatherTheHeadsInputBesideTheBlockBefore) {
    const auto program = build_program(with_three_blocks(true, true), 1, Variant::train);
    const std::int64_t rows = 2 * 1100 / ranks;
    std::vector<OpId> blocks;
    for (OpId at{0}; at < program.ops.end_id(); ++at) {
        if (is_block_of_head(program.ops[at], Direction::forward)) {
            blocks.push_back(at);
        }
    }
    ASSERT_EQ(blocks.size(), 3U);
    // Block 0 has rows of ranks 0 and 1, block 1 those of ranks 1 to 3.
    for (std::size_t b = 0; b < 2; ++b) {
        std::int64_t last = 0;
        for (const auto wait : program.ops[blocks[b]].waits_for) {
            const auto& op = program.ops[wait];
            if (op.kind == OpKind::all_gather && is_cut(op)) {
                last = std::max(last, op.writes.front().runs.front().offset);
            }
        }
        const auto row_bytes = program.ops[blocks[b]].reads.front().bytes() /
                               (program.ops[blocks[b]].row_end - program.ops[blocks[b]].row_begin);
        EXPECT_EQ(last / row_bytes, (b == 0 ? 1 : 3) * rows);
    }
}

TEST(TensorPieces, SumTheGradientOfTheHeadsInputAfterTheBlocksOfItsRows) {
    for (const bool sequence : {false, true}) {
        const auto program = build_program(with_three_blocks(true, sequence), 2, Variant::train);
        int num_sums = 0;
        const Op* last = nullptr;  // block of the head
        for (const auto& op : program.ops) {
            if (is_block_of_head(op, Direction::backward_input)) {
                last = &op;
            } else if (is_sum(op.kind) && is_cut(op) && op.purpose == Purpose::tensor && last != nullptr &&
                       last->writes.front().buffer == op.reads.front().buffer) {
                const auto row = num_sums++ * 2 * 1100 / ranks;
                EXPECT_LE(row + 2 * 1100 / ranks, last->row_end);
                EXPECT_GT(row + 2 * 1100 / ranks, last->row_begin);
            }
        }
        EXPECT_EQ(num_sums, ranks);
    }
}

TEST(TensorPieces, OfTheHeadAreCorrectStepsOnAllRanks) {
    for (const bool sequence : {false, true}) {
        const auto whole = with_three_blocks(false, sequence);
        const auto spec = with_three_blocks(true, sequence);
        const ExpectedResults truth{spec};
        const auto programs = test::programs_of_all_ranks(spec);
        EXPECT_EQ(simulate(programs, &truth, {.steps = 2, .seed = 5}).report(), "");
        for (const auto kind : {OpKind::all_gather, OpKind::reduce_scatter, OpKind::all_reduce}) {
            EXPECT_EQ(tensor_collectives(programs[0], kind).bytes,
                      tensor_collectives(build_program(whole, 0, Variant::train), kind).bytes);
        }
    }
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
