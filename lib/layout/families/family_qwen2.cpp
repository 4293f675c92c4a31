/// Qwen2 and Qwen2.5: the layer of Llama, with biases of queries, keys and values.
///
/// Source: Yang et al., "Qwen2 Technical Report", 2024, section 2.2; presets: Qwen2.5.
#include "layout/families/gated_layer.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& qwen2_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    return gated_layer(model, layer, split, {.bias = {.qkv = true}});
}

spec::Model model_of(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn_hidden) {
    spec::Model model;
    model.family = "qwen2";
    model.layers = layers;
    model.hidden = hidden;
    model.heads = heads;
    model.ffn_hidden = ffn_hidden;
    model.max_seq = 32768;
    model.norm_epsilon = 1e-6;
    model.rope_theta = 1e6;
    return model;
}

Preset qwen_half_b() {
    auto model = model_of(24, 896, 14, 4864);
    model.kv_heads = 2;
    model.vocab = 151936;
    return {"qwen2.5-0.5b", model};
}

Preset qwen_7b() {
    auto model = model_of(28, 3584, 28, 18944);
    model.kv_heads = 4;
    model.vocab = 152064;
    model.tie_embeddings = false;
    return {"qwen2.5-7b", model};
}

/// Source: Qwen2ForCausalLM and Qwen2Config of transformers.
Published published() {
    auto keys = gated_hf_keys({.kv_heads = "32"});
    keys.push_back({"sliding_window", "model.window", "4096"});
    return {
        .model_type = "qwen2",
        .architecture = "Qwen2ForCausalLM",
        .prefix = "model.",
        .tensors = gated_hf_tensors(),
        .head = "lm_head.weight",
        .left_out = {"model.layers.{}.self_attn.rotary_emb.inv_freq"},
        .keys = keys,
        .facts = {{"hidden_act", {"\"silu\"", "\"swish\""}}},
        .fields = gated_hf_fields({{"hidden_act", hf_text},
                                   {"use_sliding_window", hf_boolean},
                                   {"sliding_window", hf_whole | hf_null},
                                   {"max_window_layers", hf_whole},
                                   {"layer_types", hf_text_list | hf_null}}),
        .window_switch = "use_sliding_window",
        .full_layers = "max_window_layers",
        .usual_full_layers = 28,
        .has_layer_types = true,
    };
}

}  // namespace

const FamilyDescriptor& qwen2_family() {
    static const FamilyDescriptor described{
        .name = "qwen2",
        .doc = "layers of llama, with biases of queries, keys and values; model.window",
        .norm = NormKind::rms_norm,
        .positions = Positions::rotary,
        .has_grouped_queries = true,
        .has_window = true,
        .has_own_head_dim = true,
        .usual_ffn_hidden = gated_ffn_hidden,
        .usual_ffn_formula = gated_ffn_formula,
        .layer = decoder_layer,
        .presets = {qwen_half_b(), qwen_7b()},
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
