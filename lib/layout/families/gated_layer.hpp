/// The layer that Llama and its relatives share; only family_*.cpp includes it.
///
/// RMSNorm before each branch, rotary positions, grouped queries and a gated MLP.
#pragma once

#include "layout/families/family_descriptor.hpp"

namespace ziggurat::layout {

/// Norm of queries and keys before their rotation (QK-norm).
enum class QkNorm {
    none,
    heads,  ///< of each head
    whole,  ///< of all query heads together, and of all key heads
};

/// Norms of the two branches of a layer.
enum class NormPlacement {
    pre,       ///< of the branch's input
    post,      ///< of the branch's result, before it is added to the stream
    sandwich,  ///< both
};

/// Differences between families, or between layers of a model.
struct GatedLayer {
    spec::Biases bias = {};
    bool rotates = true;                       ///< false: the layer has no positions
    PhaseKind activation = PhaseKind::swiglu;  ///< or geglu
    QkNorm qk_norm = QkNorm::none;
    NormPlacement norms = NormPlacement::pre;
};

/// Returns one decoder layer for one rank of a tensor axis of degree `tensor`.
Unit gated_layer(const spec::Model& model,
                 int layer,
                 const TensorSplit& split,
                 const GatedLayer& differences);

/// Returns 8/3 hidden, so that three matrices have the size of two that are 4 hidden wide.
std::int64_t gated_ffn_hidden(std::int64_t hidden);
inline constexpr const char* gated_ffn_formula = "8/3 hidden, up to a multiple of 256";

/// Returns the tensors of transformers' Llama. Biases and norms of heads are optional.
std::vector<HfTensor> gated_hf_tensors();

/// Returns the same with the norms of transformers' Gemma 3: before and after each branch.
std::vector<HfTensor> sandwich_hf_tensors();

/// Returns the same with the norms of transformers' OLMo 2: only after each branch.
std::vector<HfTensor> post_norm_hf_tensors();

/// Defaults of a class of transformers for keys that config.json does not have, in deck syntax.
struct ClassDefaults {
    const char* rope_theta = "10000";
    const char* norm_epsilon = "1.0e-6";
    const char* tie_embeddings = "false";
    const char* kv_heads = "auto";
    const char* head_dim = "auto";
};

/// Returns the keys of config.json that these families have in common.
std::vector<HfKey> gated_hf_keys(const ClassDefaults& defaults);

/// Returns the types that the classes of these families declare.
///
/// Types in `own` are added, or replace one.
std::vector<HfField> gated_hf_fields(const std::vector<HfField>& own);

}  // namespace ziggurat::layout
