/// Settings of a model.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace ziggurat::spec {

enum class RopeScalingKind { none, linear, by_parts, yarn, longrope, dynamic };

/// Scaling of rotary positions for sequences longer than those of pretraining.
struct RopeScaling {
    RopeScalingKind kind = RopeScalingKind::none;
    /// Divisor of the angles. longrope: only attention_factor depends on it. dynamic: only sequences beyond
    /// max_seq depend on it, which no run has; a model that is exported has it.
    double factor = 1;
    // by_parts: angles are divided by the full factor if a period exceeds original_max_seq / low_freq_factor
    // tokens, and not scaled if it is below original_max_seq / high_freq_factor.
    double low_freq_factor = 1;
    double high_freq_factor = 4;
    std::int64_t original_max_seq = 8192;  ///< maximum sequence length of pretraining
    // yarn: pairs of channels that turn more than beta_fast times in original_max_seq tokens are not scaled;
    // the angles of pairs that turn less than beta_slow times are divided by the full factor.
    double beta_fast = 32;
    double beta_slow = 1;
    bool truncate = true;         ///< yarn: the bounds between such pairs are rounded to whole pairs
    double attention_factor = 1;  ///< yarn, longrope: factor of all cosines and sines
    // longrope: divisors of the angles, one for each pair of channels; for sequences of up to
    // original_max_seq tokens, and for longer ones.
    std::vector<double> short_factors = {};
    std::vector<double> long_factors = {};

    bool operator==(const RopeScaling&) const = default;
};

/// Constant factors of a layer's parts; 1: none.
struct Multipliers {
    double embedding = 1;  ///< of the token table's rows, not of the tied head's weight
    double residual = 1;   ///< of both branches of a layer, before they are added to the stream
    double logits = 1;

    bool operator==(const Multipliers&) const = default;
};

/// Soft caps: x becomes cap * tanh(x / cap); 0: none.
struct Softcap {
    double attention = 0;  ///< of attention's scores, after their scale
    double logits = 0;     ///< of logits, after their factor

    bool operator==(const Softcap&) const = default;
};

/// Low-rank adapters (LoRA) of weights, trained instead of them: y = x (W + alpha / rank B A)^T.
///
/// Source: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", 2021, section 4.1
struct Lora {
    std::int64_t rank = 0;             ///< 0: no adapters
    double alpha = 0;                  ///< alpha / rank is the factor of the adapters' output
    std::vector<std::string> targets;  ///< patterns of weights, the same in all layers: attention.q

    bool is_on() const noexcept { return rank > 0; }
    double factor() const noexcept { return alpha / static_cast<double>(rank); }

    bool operator==(const Lora&) const = default;
};

/// Products of a layer that add a bias, for families in which it is a choice.
struct Biases {
    bool qkv = false;
    bool output = false;  ///< the projection after attention
    bool mlp = false;

    bool operator==(const Biases&) const = default;
};

struct Model {
    std::string family;  ///< one of layout::families()
    std::int64_t layers = 0;
    std::int64_t hidden = 0;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;  ///< equal to `heads` without grouped queries
    std::int64_t head_dim = 0;  ///< channels of a head
    std::int64_t ffn_hidden = 0;
    std::int64_t vocab = 0;
    std::int64_t vocab_padded = 0;  ///< rows of the embedding; padding rows are zero and never trained
    std::int64_t max_seq = 0;
    bool tie_embeddings = true;
    double norm_epsilon = 1e-5;
    double rope_theta = 10000;   ///< for families with rotary positions
    double rotary_fraction = 1;  ///< share of a head's channels, from the first, that are rotated
    double dropout = 0;          ///< of embedding, attention weights and both branches of a layer
    /// Factor of the token table's gradient from lookups; does not apply to a tied head's part.
    double embedding_gradient = 1;
    double init_std = 0.02;          ///< projections into the residual stream: init_std / sqrt(2 layers)
    std::string init_path = {};      ///< checkpoint or run with the initial weights; empty: random
    bool is_init_published = false;  ///< true if init_path is a folder in the Hugging Face format
    RopeScaling rope_scaling = {};
    Biases bias = {};
    /// Factor of attention's scores; the usual one is 1 / sqrt(head_dim), which 0 stands for too.
    double attention_scale = 0;
    Multipliers multiplier = {};
    Softcap softcap = {};
    std::int64_t window = 0;  ///< number of tokens to which a token attends, with itself; 0: all before it
    /// Layers n, 2n, 3n ... (from 1) have no window; 0: all layers have it.
    std::int64_t full_attention_interval = 0;
    /// Theta of layers with a window, whose positions are not scaled; 0: they rotate as the other layers.
    double window_rope_theta = 0;
    /// Layers n, 2n, 3n ... (from 1) do not rotate queries and keys; 0: all layers do.
    std::int64_t no_rope_interval = 0;
    Lora lora = {};  ///< if on, train.only lists exactly the adapters' tensors

    /// Returns the number of a head's channels that positions rotate, in pairs.
    std::int64_t rotary_channels() const {
        return std::llround(static_cast<double>(head_dim) * rotary_fraction);
    }

    /// Returns 1 / sqrt(head_dim), the usual value of attention_scale.
    double usual_attention_scale() const { return 1 / std::sqrt(static_cast<double>(head_dim)); }

    bool operator==(const Model&) const = default;
};

}  // namespace ziggurat::spec
