/// SmolLM3: the layer of Llama, without positions in every fourth layer.
///
/// Source: Bakouch et al., "SmolLM3", 2025; Yang et al., "Rope to Nope and Back Again", 2025; preset:
/// SmolLM3-3B.
#include "layout/families/gated_layer.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& smollm3_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    const auto interval = model.no_rope_interval;
    return gated_layer(model, layer, split, {.rotates = interval == 0 || (layer + 1) % interval != 0});
}

Preset smollm3_3b() {
    spec::Model model;
    model.family = "smollm3";
    model.layers = 36;
    model.hidden = 2048;
    model.heads = 16;
    model.kv_heads = 4;
    model.ffn_hidden = 11008;
    model.vocab = 128256;
    model.max_seq = 65536;
    model.norm_epsilon = 1e-6;
    model.rope_theta = 5e6;
    model.no_rope_interval = 4;
    return {"smollm3-3b", model};
}

/// Source: SmolLM3ForCausalLM and SmolLM3Config of transformers.
Published published() {
    return {
        .model_type = "smollm3",
        .architecture = "SmolLM3ForCausalLM",
        .prefix = "model.",
        .tensors = gated_hf_tensors(),
        .head = "lm_head.weight",
        .left_out = {"model.layers.{}.self_attn.rotary_emb.inv_freq"},
        .keys = gated_hf_keys({.rope_theta = "2.0e6", .tie_embeddings = "true", .kv_heads = "4"}),
        .facts = {{"hidden_act", {"\"silu\"", "\"swish\""}},
                  {"attention_bias", {"false"}},
                  {"mlp_bias", {"false"}},
                  {"use_sliding_window", {"false"}}},
        .layer_lists = {{"no_rope_layers", "no_rope_layer_interval", "model.no_rope_interval", 1, 0, "4"}},
        .fields = gated_hf_fields({{"hidden_act", hf_text},
                                   {"use_sliding_window", hf_boolean},
                                   {"sliding_window", hf_whole | hf_null},
                                   {"no_rope_layers", hf_whole_list | hf_null},
                                   {"no_rope_layer_interval", hf_whole},
                                   {"layer_types", hf_text_list | hf_null},
                                   {"attention_bias", hf_boolean},
                                   {"mlp_bias", hf_boolean}}),
        .default_pad = 128004,
        .window_switch = "use_sliding_window",
    };
}

}  // namespace

const FamilyDescriptor& smollm3_family() {
    static const FamilyDescriptor described{
        .name = "smollm3",
        .doc = "layers of llama, of which every fourth has no positions",
        .norm = NormKind::rms_norm,
        .positions = Positions::rotary,
        .has_grouped_queries = true,
        .ties_embeddings = true,
        .has_own_head_dim = true,
        .no_rope_interval = 4,
        .usual_ffn_hidden = gated_ffn_hidden,
        .usual_ffn_formula = gated_ffn_formula,
        .layer = decoder_layer,
        .presets = {smollm3_3b()},
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
