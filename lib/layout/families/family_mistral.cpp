/// Mistral: the layer of Llama; early models attend to a window of tokens.
///
/// Source: Jiang et al., "Mistral 7B", 2023, section 2; preset: Mistral 7B v0.3.
#include "layout/families/gated_layer.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& mistral_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    return gated_layer(model, layer, split, {});
}

Preset mistral_7b() {
    spec::Model model;
    model.family = "mistral";
    model.layers = 32;
    model.hidden = 4096;
    model.heads = 32;
    model.kv_heads = 8;
    model.ffn_hidden = 14336;
    model.vocab = 32768;
    model.max_seq = 32768;
    model.tie_embeddings = false;
    model.rope_theta = 1e6;
    return {"mistral-7b", model};
}

/// Source: MistralForCausalLM and MistralConfig of transformers.
Published published() {
    auto keys = gated_hf_keys({.kv_heads = "8"});
    keys.push_back({"sliding_window", "model.window", "4096"});
    return {
        .model_type = "mistral",
        .architecture = "MistralForCausalLM",
        .prefix = "model.",
        .tensors = gated_hf_tensors(),
        .head = "lm_head.weight",
        .left_out = {"model.layers.{}.self_attn.rotary_emb.inv_freq"},
        .keys = keys,
        .facts = {{"hidden_act", {"\"silu\"", "\"swish\""}}},
        .fields = gated_hf_fields({{"hidden_act", hf_text},
                                   {"num_key_value_heads", hf_whole},
                                   {"head_dim", hf_whole | hf_null},
                                   {"sliding_window", hf_whole | hf_null}}),
    };
}

}  // namespace

const FamilyDescriptor& mistral_family() {
    static const FamilyDescriptor described{
        .name = "mistral",
        .doc = "layers of llama; model.window",
        .norm = NormKind::rms_norm,
        .positions = Positions::rotary,
        .has_grouped_queries = true,
        .has_window = true,
        .has_own_head_dim = true,
        .usual_ffn_hidden = gated_ffn_hidden,
        .usual_ffn_formula = gated_ffn_formula,
        .layer = decoder_layer,
        .presets = {mistral_7b()},
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
