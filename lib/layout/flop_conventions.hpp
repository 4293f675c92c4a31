/// Conventions by which publications count the floating-point operations of a training step.
#pragma once

#include <array>
#include <cstdint>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Rule for counting the FLOP of a step. The short names are C1 to C6.
enum class FlopConvention {
    full_recompute,          ///< C1: hardware FLOP of a GPT with full recomputation
    gpt_model,               ///< C2: model FLOP of a GPT
    selective_recompute,     ///< C3: hardware FLOP of a GPT whose attention is computed again
    full_attention,          ///< C4: model FLOP of any model, each query with every key
    causal_attention,        ///< C5: model FLOP of any model, half of the keys
    weights_with_recompute,  ///< C6: 8 per parameter and token, without attention
};

struct FlopConventionRow {
    FlopConvention convention;
    const char* name;     ///< `C1`
    const char* meaning;  ///< for display
};

inline constexpr std::array flop_conventions{
    FlopConventionRow{FlopConvention::full_recompute, "C1",
                      "hardware FLOP of a GPT, full recomputation, full attention"},
    FlopConventionRow{FlopConvention::gpt_model, "C2", "model FLOP of a GPT, full attention"},
    FlopConventionRow{FlopConvention::selective_recompute, "C3",
                      "hardware FLOP of a GPT, selective recomputation, full attention"},
    FlopConventionRow{FlopConvention::full_attention, "C4", "model FLOP, full attention"},
    FlopConventionRow{FlopConvention::causal_attention, "C5", "model FLOP, causal half of attention"},
    FlopConventionRow{FlopConvention::weights_with_recompute, "C6",
                      "8 FLOP per parameter and token, without attention"}};

constexpr const FlopConventionRow& row_of(FlopConvention convention) {
    return flop_conventions[static_cast<std::size_t>(convention)];
}

/// Returns the convention of flops_per_token, which `mfu` uses everywhere.
///
/// flops_per_token also counts weights of norms and biases, and of layers with a window only the keys in it.
constexpr FlopConvention own_convention() {
    return FlopConvention::causal_attention;
}

/// Returns the FLOP per training token by a convention.
///
/// With the hidden size h, L layers, V tokens in the vocabulary, the sequence length s and P parameters:
///
///     C1  96 L h^2 (1 + s/6h + V/16Lh)
///     C2  72 L h^2 (1 + s/6h + V/12Lh)
///     C3  72 L h^2 (1 + s/3h + V/12Lh)
///     C4  6 (weights of all products) + 12 L (heads x head_dim) s
///     C5  6 (weights of all products) + 6 L (heads x head_dim) s
///     C6  8 P
///
/// C1 to C3 assume a GPT with a feed-forward layer of 4h, also for other models.
/// Source: C1 Narayanan et al., arXiv 2104.04473, 2021; C2 and C3 Korthikanti et al., arXiv 2205.05198, 2022,
/// appendix A; C4 Megatron-Core's and C5 today's Megatron-LM's own counts; C6 Fang et al., PatrickStar.
double flops_per_token_by(FlopConvention convention, const spec::RunSpec& run);

}  // namespace ziggurat::layout
