/// FLOP and utilisation by the conventions of publications, at their own figures.
#include <gtest/gtest.h>

#include <vector>

#include "layout/counts.hpp"
#include "layout/flop_conventions.hpp"
#include "plan/report/time_report.hpp"
#include "tests/unit/plan/published_gpt.hpp"

namespace ziggurat::plan {
namespace {

using layout::FlopConvention;
using test::published_gpt;

/// A row of Table 5 of arXiv 2205.05198, with the shapes of its Table 3.
struct MeasuredGpt {
    const char* name;
    std::int64_t layers, hidden, heads, sequences;
    int gpus;
    double step_seconds, mfu, hfu;  ///< mfu and hfu in percent
};

spec::RunSpec run_of(const MeasuredGpt& row) {
    auto run = published_gpt(row.layers, row.hidden, row.heads, 2048);
    run.parallel.ranks = row.gpus;
    run.train.global_batch = row.sequences;
    return run;
}

double percent(FlopConvention convention, const MeasuredGpt& row) {
    const auto tokens = static_cast<double>(row.sequences) * 2048;
    return 100 * layout::flops_per_token_by(convention, run_of(row)) * tokens / row.step_seconds / row.gpus /
           312e12;
}

const std::vector<MeasuredGpt> measured{{"22B", 48, 6144, 64, 4, 8, 1.10, 41.5, 43.7},
                                        {"175B", 96, 12288, 96, 64, 64, 13.75, 51.4, 52.8},
                                        {"530B", 105, 20480, 128, 280, 280, 37.83, 56.0, 57.0},
                                        {"1T", 128, 25600, 160, 512, 512, 71.49, 56.3, 57.0}};

/// Source: Korthikanti et al., arXiv 2205.05198, 2022, Table 5, on A100 with 312 TFLOP/s.
TEST(ClosedFormsOfFlops, HoldTheUtilisationsOfTable5) {
    for (const auto& row : measured) {
        EXPECT_NEAR(percent(FlopConvention::gpt_model, row), row.mfu, 0.3) << row.name;
        EXPECT_NEAR(percent(FlopConvention::selective_recompute, row), row.hfu, 0.3) << row.name;
    }
}

/// Source: the same, section 5: 2.7 % of the FLOP of the GPT of 175B, 1.6 % of that of 530B.
TEST(ClosedFormsOfFlops, HoldTheFlopsOfSelectiveRecomputation) {
    const auto overhead = [](const MeasuredGpt& row) {
        return 100 *
               (percent(FlopConvention::selective_recompute, row) / percent(FlopConvention::gpt_model, row) -
                1);
    };
    EXPECT_NEAR(overhead(measured[1]), 2.7, 0.05);
    EXPECT_NEAR(overhead(measured[2]), 1.6, 0.05);
}

/// C4 is C2 for a GPT. C1 has four passes of all layers and three of the head. C5 halves attention.
///
/// C4 of gated layers: 12 s h^2 (1 + g/a + 1.5 ffn/h + s/h). C6 is 8 per parameter.
TEST(ClosedFormsOfFlops, HoldTheConventionsOfFlops) {
    for (const auto& row : measured) {
        const auto run = run_of(row);
        const auto c = [&](FlopConvention convention) { return layout::flops_per_token_by(convention, run); };
        EXPECT_NEAR(c(FlopConvention::full_attention) / c(FlopConvention::gpt_model), 1, 1e-12) << row.name;
        const auto head = 6.0 * static_cast<double>(row.hidden * run.model.vocab);
        EXPECT_NEAR(c(FlopConvention::full_recompute), (c(FlopConvention::gpt_model) - head) * 4 / 3 + head,
                    1e-12 * c(FlopConvention::gpt_model))
            << row.name;
        const auto attention = 12.0 * static_cast<double>(row.layers * row.hidden) * 2048;
        EXPECT_NEAR(c(FlopConvention::full_attention) - c(FlopConvention::causal_attention), attention / 2,
                    1e-9 * attention)
            << row.name;
        EXPECT_DOUBLE_EQ(c(FlopConvention::weights_with_recompute),
                         8.0 * static_cast<double>(layout::count_parameters(run.model).total));
    }
    auto gated = published_gpt(32, 4096, 32, 8192);
    gated.model.family = "llama";
    gated.model.kv_heads = 8;
    gated.model.ffn_hidden = 14336;
    gated.model.tie_embeddings = false;
    const double h = 4096, s = 8192, vocab = 51200;
    const double printed = 12 * 32 * h * h * (1 + 8.0 / 32 + s / h + 1.5 * 14336 / h + vocab / (2 * 32 * h));
    EXPECT_NEAR(layout::flops_per_token_by(FlopConvention::full_attention, gated) / printed, 1, 1e-12);
}

/// The count of `mfu` exceeds C5 by norms and biases only.
TEST(ClosedFormsOfFlops, HoldTheConventionOfOurOwnUtilisation) {
    for (const auto& row : measured) {
        const auto run = run_of(row);
        const auto own = layout::flops_per_token(run);
        const auto named = layout::flops_per_token_by(layout::own_convention(), run);
        EXPECT_GE(own, named) << row.name;
        EXPECT_LT(own, 1.001 * named) << row.name;
        spec::MachineSpec machine;
        machine.device_flops = 312e12;
        const auto speed = speed_of(run, machine, row.step_seconds);
        ASSERT_TRUE(speed.mfu);
        EXPECT_NEAR(100 * *speed.mfu, percent(layout::own_convention(), row), 0.1) << row.name;
    }
}

}  // namespace
}  // namespace ziggurat::plan
