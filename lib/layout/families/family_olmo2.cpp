/// OLMo 2: the layer of Llama, with norms after its branches instead of before them.
///
/// All query heads of a token are normalized together, and all its key heads (QK-norm).
///
/// Source: Team OLMo, "2 OLMo 2 Furious", 2025, section 3.1; presets: the published config.json of
/// OLMo-2-0425-1B, OLMo-2-1124-7B, OLMo-2-1124-13B and OLMo-2-0325-32B.
#include "layout/families/gated_layer.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& olmo2_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    return gated_layer(model, layer, split, {.qk_norm = QkNorm::whole, .norms = NormPlacement::post});
}

spec::Model model_of(std::int64_t layers,
                     std::int64_t hidden,
                     std::int64_t heads,
                     std::int64_t kv_heads,
                     std::int64_t ffn_hidden) {
    spec::Model model;
    model.family = "olmo2";
    model.layers = layers;
    model.hidden = hidden;
    model.heads = heads;
    model.kv_heads = kv_heads;
    model.ffn_hidden = ffn_hidden;
    model.vocab = 100352;
    model.max_seq = 4096;
    model.norm_epsilon = 1e-6;
    model.rope_theta = 500000;
    model.tie_embeddings = false;
    return model;
}

/// Source: Olmo2ForCausalLM and Olmo2Config of transformers.
Published published() {
    return {
        .model_type = "olmo2",
        .architecture = "Olmo2ForCausalLM",
        .prefix = "model.",
        .tensors = post_norm_hf_tensors(),
        .head = "lm_head.weight",
        .keys = gated_hf_keys({.norm_epsilon = "1.0e-5"}),
        .facts = {{"hidden_act", {"\"silu\"", "\"swish\""}}, {"attention_bias", {"false"}}},
        .fields = gated_hf_fields({{"hidden_act", hf_text}, {"attention_bias", hf_boolean}}),
    };
}

}  // namespace

const FamilyDescriptor& olmo2_family() {
    static const FamilyDescriptor described{
        .name = "olmo2",
        .doc =
            "layers of llama, with a norm after each branch instead of before it, and a norm of all query "
            "heads together and of all key heads (OLMo 2)",
        .norm = NormKind::rms_norm,
        .positions = Positions::rotary,
        .has_grouped_queries = true,
        .has_own_head_dim = true,
        .usual_ffn_hidden = gated_ffn_hidden,
        .usual_ffn_formula = gated_ffn_formula,
        .layer = decoder_layer,
        .presets = {Preset{"olmo-2-1b", model_of(16, 2048, 16, 16, 8192)},
                    Preset{"olmo-2-7b", model_of(32, 4096, 32, 32, 11008)},
                    Preset{"olmo-2-13b", model_of(40, 5120, 40, 40, 13824)},
                    Preset{"olmo-2-32b", model_of(64, 5120, 40, 8, 27648)}},
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
