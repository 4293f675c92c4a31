/// Qwen3: the layer of Llama, with a norm of each query and key head before the rotation (QK-norm).
///
/// Source: Yang et al., "Qwen3 Technical Report", 2025, section 2; presets: its table 1.
#include "layout/families/gated_layer.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& qwen3_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    return gated_layer(model, layer, split, {.qk_norm = QkNorm::heads});
}

spec::Model model_of(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn_hidden) {
    spec::Model model;
    model.family = "qwen3";
    model.layers = layers;
    model.hidden = hidden;
    model.heads = heads;
    model.kv_heads = 8;
    model.head_dim = 128;
    model.ffn_hidden = ffn_hidden;
    model.vocab = 151936;
    model.max_seq = 40960;
    model.norm_epsilon = 1e-6;
    model.rope_theta = 1e6;
    return model;
}

Preset qwen_0_6b() {
    return {"qwen3-0.6b", model_of(28, 1024, 16, 3072)};
}

Preset qwen_8b() {
    auto model = model_of(36, 4096, 32, 12288);
    model.tie_embeddings = false;
    return {"qwen3-8b", model};
}

/// Source: Qwen3ForCausalLM and Qwen3Config of transformers.
Published published() {
    auto keys = gated_hf_keys({.kv_heads = "32", .head_dim = "128"});
    keys.push_back({"sliding_window", "model.window", "4096"});
    return {
        .model_type = "qwen3",
        .architecture = "Qwen3ForCausalLM",
        .prefix = "model.",
        .tensors = gated_hf_tensors(),
        .head = "lm_head.weight",
        .keys = keys,
        .facts = {{"hidden_act", {"\"silu\"", "\"swish\""}}, {"attention_bias", {"false"}}},
        .fields = gated_hf_fields({{"hidden_act", hf_text},
                                   {"head_dim", hf_whole},
                                   {"attention_bias", hf_boolean},
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

const FamilyDescriptor& qwen3_family() {
    static const FamilyDescriptor described{
        .name = "qwen3",
        .doc = "layers of llama, with a norm of each query and key head (QK-norm); model.window",
        .norm = NormKind::rms_norm,
        .positions = Positions::rotary,
        .has_grouped_queries = true,
        .has_window = true,
        .has_own_head_dim = true,
        .usual_ffn_hidden = gated_ffn_hidden,
        .usual_ffn_formula = gated_ffn_formula,
        .layer = decoder_layer,
        .presets = {qwen_0_6b(), qwen_8b()},
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
