#include "layout/cuda_workspaces.hpp"

#include <gtest/gtest.h>

namespace ziggurat::layout {
namespace {

constexpr std::int64_t gib = std::int64_t{1} << 30;

/// Returns the tiles of 128 queries in one launch of a backward pass.
std::int64_t tiles(const CudaWorkspaces::AttentionPiece& piece, const AttentionSizes& of) {
    return piece.sequences * piece.kv_heads * (of.heads / of.kv_heads) * of.seq / 128;
}

TEST(CudaWorkspaces, PiecesOfAttentionFillAnH100) {
    for (const AttentionSizes& of : {AttentionSizes{2, 4096, 32, 8, 128},
                                     {32, 1024, 12, 12, 64},
                                     {8, 1024, 25, 25, 64},
                                     {16, 2048, 64, 8, 128}}) {
        const auto piece = CudaWorkspaces::attention_piece(of);
        ASSERT_TRUE(piece);
        EXPECT_GE(tiles(*piece, of), 4 * CudaWorkspaces::multiprocessors) << of.seq;
        EXPECT_EQ(of.batch % piece->sequences, 0);
        EXPECT_EQ(of.kv_heads % piece->kv_heads, 0);
        EXPECT_TRUE(piece->sequences == 1 || piece->kv_heads == of.kv_heads);
        EXPECT_LE(CudaWorkspaces{AttentionUse{.is_bfloat16 = true}}.attention_backward(of), 2 * gib + 4096);
    }
}

TEST(CudaWorkspaces, PiecesAreNoLargerThanTheCallOrTwoGibibytes) {
    const auto small = CudaWorkspaces::attention_piece({2, 256, 4, 2, 64});
    ASSERT_TRUE(small);
    EXPECT_EQ(small->sequences, 2);
    EXPECT_EQ(small->kv_heads, 2);
    // Two key heads with four query heads each take 4 GiB or more.
    const auto long_one = CudaWorkspaces::attention_piece({1, 16384, 32, 8, 128});
    EXPECT_FALSE(long_one) << "not even one of them fits";
    const auto longer = CudaWorkspaces::attention_piece({1, 8192, 32, 8, 128});
    ASSERT_TRUE(longer);
    EXPECT_EQ(longer->kv_heads, 2);
    EXPECT_FALSE(CudaWorkspaces::attention_piece({2, 200, 4, 2, 64})) << "no whole tiles";
}

TEST(CudaWorkspaces, BackwardInAnyOrderIsOneCallWithAWorkspaceLinearInTheSequence) {
    const AttentionSizes of{2, 16384, 32, 8, 128, true};
    const auto piece = CudaWorkspaces::attention_piece(of);
    ASSERT_TRUE(piece);
    EXPECT_EQ(piece->sequences, of.batch);
    EXPECT_EQ(piece->kv_heads, of.kv_heads);
    const auto rows = of.batch * of.seq * of.heads;
    EXPECT_EQ(CudaWorkspaces::attention_gradients(of),
              2 * rows * 128 * 4 + rows * 4 + 2 * rows * 128 * 2 + CudaWorkspaces::attention_forward_bytes);
    EXPECT_FALSE(CudaWorkspaces::attention_piece({2, 16384, 32, 8, 128}))
        << "in one order, heads are too large";
}

TEST(CudaWorkspaces, TensorCoresNeedASumForEachRow) {
    const AttentionSizes of{2, 200, 6, 2, 64};
    const auto backward = [&](const AttentionUse& use) { return CudaWorkspaces{use}.attention_backward(of); };
    EXPECT_EQ(backward({.is_bfloat16 = true, .has_documents = true}), 2 * 200 * 6 * 4);
    EXPECT_EQ(backward({.is_bfloat16 = true, .is_ring = true}), 2 * 2 * 200 * 6 * 4) << "of two blocks";
    EXPECT_EQ(backward({.is_bfloat16 = true, .has_dropout = true}), 0);
    EXPECT_EQ(backward({}), 0);
    EXPECT_FALSE(CudaWorkspaces::has_tensor_cores(136));
    EXPECT_FALSE(CudaWorkspaces::has_tensor_cores(60));
}

TEST(CudaWorkspaces, BlocksOfLogitsAreThousandsOfRowsWithinAGibibyte) {
    const CudaWorkspaces of;
    EXPECT_EQ(of.logits_rows(128256), 4096);
    EXPECT_EQ(of.logits_rows(50304), 10240);
    EXPECT_EQ(of.logits_rows(1 << 20), 1024) << "a block is never less";
}

}  // namespace
}  // namespace ziggurat::layout
