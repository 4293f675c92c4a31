/// Gemma 2: the layer of Gemma with a second norm of each branch, soft caps, and windows by turns.
///
/// Source: Gemma Team, "Gemma 2: Improving Open Language Models at a Practical Size", 2024, section 2; presets:
/// the published config.json of gemma-2-2b and gemma-2-9b.
#include "layout/families/gated_layer.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& gemma2_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    return gated_layer(model, layer, split,
                       {.activation = PhaseKind::geglu, .norms = NormPlacement::sandwich});
}

constexpr int full_interval = 2;
constexpr spec::Softcap usual_softcap{.attention = 50, .logits = 30};

spec::Model model_of(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn_hidden) {
    spec::Model model;
    model.family = "gemma2";
    model.layers = layers;
    model.hidden = hidden;
    model.heads = heads;
    model.kv_heads = heads / 2;
    model.head_dim = 256;
    model.ffn_hidden = ffn_hidden;
    model.vocab = 256000;
    model.max_seq = 8192;
    model.norm_epsilon = 1e-6;
    model.window = 4096;
    model.full_attention_interval = full_interval;
    model.attention_scale = model.usual_attention_scale();
    model.softcap = usual_softcap;
    return model;
}

/// Source: Gemma2ForCausalLM and Gemma2Config of transformers.
///
/// The class reads which layers have a window from version 4.53 on.
Published published() {
    auto keys = gated_hf_keys({.tie_embeddings = "true", .kv_heads = "4", .head_dim = "256"});
    keys.push_back(
        {.name = "sliding_window", .deck_key = "model.window", .fallback = "4096", .is_never_null = true});
    keys.push_back({.name = "query_pre_attn_scalar",
                    .deck_key = "model.attention_scale",
                    .fallback = "0.0625",
                    .form = HfForm::squared_divisor,
                    .is_integer = true});
    keys.push_back({.name = "attn_logit_softcapping",
                    .deck_key = "model.softcap.attention",
                    .fallback = "50",
                    .on_null = "none"});
    keys.push_back({.name = "final_logit_softcapping",
                    .deck_key = "model.softcap.logits",
                    .fallback = "30",
                    .on_null = "none"});
    return {
        .model_type = "gemma2",
        .architecture = "Gemma2ForCausalLM",
        .prefix = "model.",
        .tensors = sandwich_hf_tensors(),
        .head = "lm_head.weight",
        .keys = keys,
        .facts = {{"hidden_activation", {"\"gelu_pytorch_tanh\""}},
                  {"attention_bias", {"false"}},
                  {"use_bidirectional_attention", {"false"}}},
        .fields = gated_hf_fields({{"hidden_activation", hf_text},
                                   {"num_key_value_heads", hf_whole},
                                   {"head_dim", hf_whole},
                                   {"attention_bias", hf_boolean},
                                   {"attention_dropout", hf_whole | hf_real | hf_null},
                                   {"query_pre_attn_scalar", hf_whole},
                                   {"sliding_window", hf_whole | hf_null},
                                   {"layer_types", hf_text_list | hf_null},
                                   {"final_logit_softcapping", hf_real | hf_null},
                                   {"attn_logit_softcapping", hf_real | hf_null},
                                   {"use_bidirectional_attention", hf_boolean | hf_null}}),
        .has_whole_heads_only = true,
        .has_layer_types = true,
        .usual_window_pattern = full_interval,
    };
}

}  // namespace

const FamilyDescriptor& gemma2_family() {
    static const FamilyDescriptor described{
        .name = "gemma2",
        .doc = "layers of gemma, with a second norm of each branch, model.window and model.softcap (Gemma 2)",
        .norm = NormKind::rms_norm,
        .gain_offset = 1,
        .positions = Positions::rotary,
        .has_grouped_queries = true,
        .scales_embedding = true,
        .ties_embeddings = true,
        .has_window = true,
        .has_attention_scale = true,
        .softcap = usual_softcap,
        .has_own_head_dim = true,
        .usual_ffn_hidden = gated_ffn_hidden,
        .usual_ffn_formula = gated_ffn_formula,
        .layer = decoder_layer,
        .presets = {Preset{"gemma-2-2b", model_of(26, 2304, 8, 9216)},
                    Preset{"gemma-2-9b", model_of(42, 3584, 16, 14336)}},
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
