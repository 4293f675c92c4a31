#include "layout/attention_choice.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace ziggurat::layout {
namespace {

constexpr AttentionSizes sizes{2, 4096, 32, 8, 128};
constexpr AttentionUse plain{.is_bfloat16 = true};

struct Case {
    AttentionUse use;
    AttentionSizes sizes;
    int capability;
    bool has_cudnn;
    AttentionKernel kernel;
    std::string_view reason;  ///< part of the reason
};

TEST(AttentionChoice, TakesTheFastestKernelThatServesTheCalls) {
    auto heads_of_256 = sizes;
    heads_of_256.head_dim = 256;
    auto part_of_a_tile = sizes;
    part_of_a_tile.seq = 4000;
    const Case cases[]{
        {plain, sizes, 80, true, AttentionKernel::cudnn, ""},
        {plain, sizes, 90, false, AttentionKernel::tensor_cores, "missing"},
        {{.is_bfloat16 = true, .has_documents = true},
         sizes,
         90,
         true,
         AttentionKernel::tensor_cores,
         "reset_at_document"},
        {{.is_bfloat16 = true, .has_window = true},
         sizes,
         90,
         true,
         AttentionKernel::tensor_cores,
         "model.window"},
        {{.is_bfloat16 = true, .has_dropout = true}, sizes, 90, true, AttentionKernel::cuda_cores, "dropout"},
        {{.is_bfloat16 = true, .has_softcap = true}, sizes, 90, true, AttentionKernel::cuda_cores, "softcap"},
        {{.is_bfloat16 = true, .is_ring = true}, sizes, 90, true, AttentionKernel::tensor_cores, "ulysses"},
        {{}, sizes, 90, true, AttentionKernel::cuda_cores, "precision.compute"},
        {plain, part_of_a_tile, 90, true, AttentionKernel::tensor_cores, "tiles of 128"},
        {plain, heads_of_256, 90, true, AttentionKernel::cudnn, ""},
        {plain, heads_of_256, 89, true, AttentionKernel::cuda_cores, "head size"},
    };
    for (const auto& [use, of, capability, has_cudnn, kernel, reason] : cases) {
        const auto choice = choose_attention(use, of, capability, has_cudnn);
        EXPECT_EQ(choice.kernel, kernel) << describe(choice.kernel) << " for " << reason;
        EXPECT_NE(std::string_view{choice.reason}.find(reason), std::string_view::npos) << choice.reason;
        EXPECT_EQ(std::string_view{choice.reason}.empty(), kernel == AttentionKernel::cudnn);
    }
}

TEST(AttentionChoice, DropsNothingInValidation) {
    spec::RunSpec run;
    run.precision.compute = spec::DType::bf16;
    run.model.dropout = 0.1;
    EXPECT_TRUE(attention_use(run, true, 0).has_dropout);
    EXPECT_FALSE(attention_use(run, false, 0).has_dropout);
    EXPECT_TRUE(attention_use(run, false, 0).is_bfloat16);
}

TEST(AttentionChoice, DependsOnTheCapOfScoresButNotOnThatOfLogits) {
    spec::RunSpec run;
    run.model.softcap.logits = 30;
    EXPECT_FALSE(attention_use(run, true, 0).has_softcap);
    run.model.softcap.attention = 50;
    EXPECT_TRUE(attention_use(run, true, 0).has_softcap);
}

TEST(AttentionChoice, DependsOnTheKindOfContextRanks) {
    spec::RunSpec run;
    run.parallel.context_kind = spec::ContextKind::ring;
    EXPECT_FALSE(attention_use(run, true, 0).is_ring);
    run.parallel.context = 2;
    EXPECT_TRUE(attention_use(run, true, 0).is_ring);
    run.parallel.context_kind = spec::ContextKind::ulysses;
    EXPECT_FALSE(attention_use(run, true, 0).is_ring);
}

TEST(AttentionChoice, DependsOnTheWindowOfALayer) {
    spec::RunSpec run;
    run.precision.compute = spec::DType::bf16;
    const auto kernel_of = [&](std::int64_t window) {
        return choose_attention(attention_use(run, true, window), sizes, 90, true).kernel;
    };
    EXPECT_EQ(kernel_of(0), AttentionKernel::cudnn);
    EXPECT_EQ(kernel_of(1024), AttentionKernel::tensor_cores);
}

}  // namespace
}  // namespace ziggurat::layout
