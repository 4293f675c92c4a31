/// Saved activations of a layer, compared with Table 2 of Korthikanti et al.
///
/// Source: "Reducing Activation Recomputation in Large Transformer Models" (arXiv 2205.05198), 2022.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "layout/families/family_descriptor.hpp"
#include "schedule/build_program.hpp"
#include "schedule/volumes/saved_activations.hpp"

namespace ziggurat::schedule {
namespace {

using spec::RecomputeKind;

/// A choice of parallelism and recomputation, and its row of Table 2.
///
/// bytes / (s b h) are `whole` + (`cut` + 5as/h if the core of attention is kept) / t.
struct ColorScheme {
    const char* name;
    RecomputeKind kind;
    bool sequence;
    bool split;
    double whole;
    double cut;
    bool keeps_core;
};

const std::vector<ColorScheme>& schemes() {
    static const std::vector<ColorScheme> all{
        {"tensor", RecomputeKind::none, false, false, 10, 24, true},
        {"tensor, sequence", RecomputeKind::none, true, false, 0, 34, true},
        {"tensor, selective", RecomputeKind::selective, false, false, 10, 24, false},
        {"tensor, sequence, selective", RecomputeKind::selective, true, false, 0, 34, false},
        {"tensor, full", RecomputeKind::full, false, false, 2, 0, false},
        {"tensor, sequence, full", RecomputeKind::full, true, false, 0, 2, false},
        {"tensor, full, split", RecomputeKind::full, false, true, 0, 2, false},
        {"tensor, selective, split", RecomputeKind::selective, false, true, 0, 34, false},
    };
    return all;
}

/// Three layers of a family, of which the middle one is checked.
constexpr int middle = 2;

spec::RunSpec spec_of(const std::string& family, int tensor, const ColorScheme& scheme) {
    spec::RunSpec spec;
    auto& model = spec.model;
    model.family = family;
    const auto& described = layout::family_of(model);
    model.layers = 3;
    model.heads = 12;
    model.head_dim = 64;
    model.kv_heads = described.has_grouped_queries ? 4 : 12;
    model.hidden = 768;
    model.ffn_hidden = family == "llama" ? 2048 : 3072;
    model.vocab = 500;
    model.vocab_padded = 512;
    model.max_seq = 1024;
    model.tie_embeddings = described.ties_embeddings;
    model.rotary_fraction = described.rotary_fraction;
    model.dropout = described.has_dropout ? 0.1 : 0;
    spec.data.seq = 1024;
    spec.train.steps = 1;
    spec.train.micro_batch = 2;
    spec.train.micro_batches = 1;
    spec.train.global_batch = 2;
    spec.parallel.tensor = spec.parallel.ranks = spec.parallel.ranks_per_node = tensor;
    spec.parallel.sequence = scheme.sequence && tensor > 1;
    spec.recompute.kind = scheme.kind;
    spec.recompute.split = scheme.split && tensor > 1;
    spec.precision.compute = spec::DType::bf16;
    return spec;
}

double of_table(const ColorScheme& scheme, const spec::RunSpec& spec) {
    const auto h = static_cast<double>(spec.model.hidden);
    const auto s = static_cast<double>(spec.data.seq);
    const double t = spec.parallel.tensor;
    const double core = scheme.keeps_core ? 5 * static_cast<double>(spec.model.heads) * s / h : 0;
    return s * static_cast<double>(spec.train.micro_batch) * h * (scheme.whole + (scheme.cut + core) / t);
}

double of_formula(const spec::RunSpec& spec) {
    return static_cast<double>(kept_bytes(kept_by_formula(spec, ModelLayout{spec, 0}, middle), spec));
}

TEST(Activations, KeptPerLayerAreThoseOfTheClosedFormAndNoMoreThanThePapers) {
    std::printf("bytes kept per layer and micro-batch of GPT-2 (h 768, a 12, s 1024, b 2, bf16)\n");
    std::printf("%-29s %2s %12s %12s %12s\n", "", "t", "program", "closed form", "Table 2");
    for (const auto& scheme : schemes()) {
        for (const int tensor : {1, 2, 4}) {
            const auto spec = spec_of("gpt2", tensor, scheme);
            const auto counted =
                static_cast<double>(kept_counted(build_program(spec, 0, Variant::train), middle));
            const auto formula = of_formula(spec);
            const auto table = of_table(scheme, spec);
            std::printf("%-29s %2d %12.0f %12.0f %12.0f\n", scheme.name, tensor, counted, formula, table);
            EXPECT_NEAR(counted / formula, 1, 0.02) << scheme.name << ", t = " << tensor;
            EXPECT_LE(counted, table * (1 + 1e-9)) << scheme.name << ", t = " << tensor;
        }
    }
}

TEST(Activations, OfEveryFamilyAreThoseOfTheClosedForm) {
    for (const std::string family : {"llama", "gpt_neox"}) {
        for (const auto& scheme : schemes()) {
            for (const int tensor : {1, 2, 4}) {
                const auto spec = spec_of(family, tensor, scheme);
                const auto counted =
                    static_cast<double>(kept_counted(build_program(spec, 0, Variant::train), middle));
                EXPECT_NEAR(counted / of_formula(spec), 1, 0.02)
                    << family << ", " << scheme.name << ", t = " << tensor;
            }
        }
    }
}

TEST(Activations, OfGptTwoAreWhatTheFormulaIsDocumentedToBe) {
    constexpr double tokens = 2048, ch = 2 * 768, heads = 12;
    for (const double t : {1.0, 2.0, 4.0}) {
        const auto of = [&](std::size_t scheme) {
            return of_formula(spec_of("gpt2", static_cast<int>(t), schemes()[scheme]));
        };
        EXPECT_EQ(of(0), tokens * (4 * ch + 16 + (12 * ch + 4 * heads) / t)) << t;
        EXPECT_EQ(of(1), tokens * (4 * ch + 16 + 12 * ch + 4 * heads) / t) << t;
        EXPECT_EQ(of(2), tokens * (2 * ch + 7 * ch / t)) << t;
        EXPECT_EQ(of(3), tokens * 9 * ch / t) << t;
        EXPECT_EQ(of(4), tokens * ch) << t;
        EXPECT_EQ(of(5), tokens * ch / t) << t;
        EXPECT_EQ(of(6), tokens * ch / t) << t;
        EXPECT_EQ(of(7), tokens * 9 * ch / t) << t;
    }
}

// With sequence parallelism or sharded copies, all parts decrease as 1/t, as in the table. Otherwise the
// parts that all ranks replicate stay.
TEST(Activations, FallWithTheTensorDegreeAsTheTableSays) {
    for (const auto& scheme : schemes()) {
        const auto at = [&](int tensor) {
            return static_cast<double>(
                kept_counted(build_program(spec_of("gpt2", tensor, scheme), 0, Variant::train), middle));
        };
        const auto one = at(1), two = at(2), four = at(4);
        if (scheme.whole == 0) {
            EXPECT_NEAR(two / one, 0.5, 1e-3) << scheme.name;
            EXPECT_NEAR(four / one, 0.25, 1e-3) << scheme.name;
        } else {
            // a + b/t
            EXPECT_NEAR(one - two, 2 * (two - four), 1e-3 * one) << scheme.name;
            EXPECT_EQ(scheme.cut > 0, two < one) << scheme.name;
        }
    }
}

}  // namespace
}  // namespace ziggurat::schedule
