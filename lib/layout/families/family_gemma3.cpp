/// Gemma 3 (text): the layer of Gemma with a second norm of each branch, QK-norm and two rotary bases.
///
/// Source: Gemma Team, "Gemma 3 Technical Report", 2025, section 2; presets: the published config.json of
/// gemma-3-270m and gemma-3-1b-pt.
#include <string_view>

#include "layout/families/gated_layer.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& gemma3_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    return gated_layer(
        model, layer, split,
        {.activation = PhaseKind::geglu, .qk_norm = QkNorm::heads, .norms = NormPlacement::sandwich});
}

constexpr int usual_pattern = 6;
constexpr double usual_window_theta = 10000;

spec::Model model_of(std::int64_t layers, std::int64_t hidden, std::int64_t ffn_hidden) {
    spec::Model model;
    model.family = "gemma3";
    model.layers = layers;
    model.hidden = hidden;
    model.heads = 4;
    model.kv_heads = 1;
    model.head_dim = 256;
    model.ffn_hidden = ffn_hidden;
    model.vocab = 262144;
    model.max_seq = 32768;
    model.norm_epsilon = 1e-6;
    model.rope_theta = 1e6;
    model.window = 512;
    model.full_attention_interval = usual_pattern;
    model.window_rope_theta = usual_window_theta;
    model.attention_scale = model.usual_attention_scale();
    return model;
}

/// Source: Gemma3ForCausalLM and Gemma3TextConfig of transformers.
Published published() {
    auto keys = gated_hf_keys(
        {.rope_theta = "1000000", .tie_embeddings = "true", .kv_heads = "4", .head_dim = "256"});
    // The published files of the larger models leave out what the class assumes.
    const struct {
        std::string_view name;
        const char* fallback;
    } defaults[] = {
        {"num_attention_heads", "8"}, {"vocab_size", "262208"}, {"max_position_embeddings", "131072"}};
    for (auto& key : keys) {
        for (const auto& [name, fallback] : defaults) {
            key.fallback = key.name == name ? fallback : key.fallback;
        }
    }
    keys.push_back(
        {.name = "sliding_window", .deck_key = "model.window", .fallback = "4096", .is_never_null = true});
    keys.push_back({"rope_local_base_freq", "model.window_rope_theta", "10000"});
    keys.push_back({.name = "query_pre_attn_scalar",
                    .deck_key = "model.attention_scale",
                    .fallback = "0.0625",
                    .form = HfForm::squared_divisor,
                    .is_integer = true});
    return {
        .model_type = "gemma3_text",
        .wrapper = {.model_type = "gemma3",
                    .text_config = "text_config",
                    .prefix = "language_model.",
                    .others = {"vision_tower.", "multi_modal_projector."}},
        .architecture = "Gemma3ForCausalLM",
        .prefix = "model.",
        .tensors = sandwich_hf_tensors(),
        .head = "lm_head.weight",
        .keys = keys,
        .facts = {{"hidden_activation", {"\"gelu_pytorch_tanh\""}},
                  {"attention_bias", {"false"}},
                  {"attn_logit_softcapping", {"null"}},
                  {"final_logit_softcapping", {"null"}},
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
        .window_pattern = "sliding_window_pattern",
        .usual_window_pattern = usual_pattern,
    };
}

}  // namespace

const FamilyDescriptor& gemma3_family() {
    static const FamilyDescriptor described{
        .name = "gemma3",
        .doc =
            "layers of gemma, with a second norm of each branch, a norm of each query and key head, "
            "model.window and model.window_rope_theta (Gemma 3, text)",
        .norm = NormKind::rms_norm,
        .gain_offset = 1,
        .positions = Positions::rotary,
        .has_grouped_queries = true,
        .scales_embedding = true,
        .ties_embeddings = true,
        .has_window = true,
        .window_rope_theta = usual_window_theta,
        .has_attention_scale = true,
        .has_own_head_dim = true,
        .usual_ffn_hidden = gated_ffn_hidden,
        .usual_ffn_formula = gated_ffn_formula,
        .layer = decoder_layer,
        .presets = {Preset{"gemma-3-270m", model_of(18, 640, 2048)},
                    Preset{"gemma-3-1b", model_of(26, 1152, 6912)}},
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
