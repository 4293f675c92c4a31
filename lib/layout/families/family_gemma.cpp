/// Gemma 1: the layer of Llama, with GEGLU, norms by 1 + gain, and a scaled embedding.
///
/// Source: Gemma Team, "Gemma: Open Models Based on Gemini Research and Technology", 2024, section 2; presets:
/// its table 1.
#include "layout/families/gated_layer.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& gemma_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    return gated_layer(model, layer, split, {.activation = PhaseKind::geglu});
}

Preset gemma_2b() {
    spec::Model model;
    model.family = "gemma";
    model.layers = 18;
    model.hidden = 2048;
    model.heads = 8;
    model.kv_heads = 1;
    model.head_dim = 256;
    model.ffn_hidden = 16384;
    model.vocab = 256000;
    model.max_seq = 8192;
    model.norm_epsilon = 1e-6;
    return {"gemma-2b", model};
}

/// Source: GemmaForCausalLM and GemmaConfig of transformers. `gelu` of older files means the tanh form.
Published published() {
    return {
        .model_type = "gemma",
        .architecture = "GemmaForCausalLM",
        .prefix = "model.",
        .tensors = gated_hf_tensors(),
        .head = "lm_head.weight",
        .left_out = {"model.layers.{}.self_attn.rotary_emb.inv_freq"},
        .keys = gated_hf_keys({.tie_embeddings = "true", .kv_heads = "16", .head_dim = "256"}),
        .facts = {{"hidden_act", {"\"gelu_pytorch_tanh\"", "\"gelu\""}},
                  {"hidden_activation", {"\"gelu_pytorch_tanh\"", "null"}},
                  {"attention_bias", {"false"}}},
        .fields = gated_hf_fields({{"hidden_act", hf_text},
                                   {"num_key_value_heads", hf_whole},
                                   {"head_dim", hf_whole},
                                   {"attention_bias", hf_boolean},
                                   {"use_bidirectional_attention", hf_boolean | hf_null}}),
    };
}

}  // namespace

const FamilyDescriptor& gemma_family() {
    static const FamilyDescriptor described{
        .name = "gemma",
        .doc = "layers of llama, with GEGLU, norms by 1 + gain and a scaled embedding (the first Gemma)",
        .norm = NormKind::rms_norm,
        .gain_offset = 1,
        .positions = Positions::rotary,
        .has_grouped_queries = true,
        .scales_embedding = true,
        .ties_embeddings = true,
        .has_own_head_dim = true,
        .usual_ffn_hidden = gated_ffn_hidden,
        .usual_ffn_formula = gated_ffn_formula,
        .layer = decoder_layer,
        .presets = {gemma_2b()},
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
