/// Granite 3: the layer of Llama, with constant factors of embedding, scores, branches and logits.
///
/// Source: Shen et al., "Power Scheduler", 2024 (the factors of muP); Granite Team, "Granite 3.0 Language
/// Models", 2024; presets: Granite 3.3.
#include "layout/families/gated_layer.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& granite_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    return gated_layer(model, layer, split, {.bias = model.bias});
}

spec::Model model_of(std::int64_t hidden, std::int64_t ffn_hidden) {
    spec::Model model;
    model.family = "granite";
    model.layers = 40;
    model.hidden = hidden;
    model.heads = 32;
    model.kv_heads = 8;
    model.ffn_hidden = ffn_hidden;
    model.vocab = 49159;
    model.max_seq = 131072;
    model.rope_theta = 1e7;
    model.attention_scale = 32 / static_cast<double>(hidden);  // 1 / head_dim
    model.multiplier = {.embedding = 12, .residual = 0.22, .logits = 0.125};
    return model;
}

Preset granite_8b() {
    auto model = model_of(4096, 12800);
    model.multiplier.logits = 0.0625;
    return {"granite-3.3-8b", model};
}

/// Source: GraniteForCausalLM and GraniteConfig of transformers.
Published published() {
    auto keys = gated_hf_keys({});
    keys.push_back({"attention_bias", "model.bias.qkv", "false"});
    keys.push_back({"attention_bias", "model.bias.output", "false"});  // one key of the file sets both
    keys.push_back({"mlp_bias", "model.bias.mlp", "false"});
    keys.push_back({"attention_multiplier", "model.attention_scale", "1"});
    keys.push_back({"embedding_multiplier", "model.multiplier.embedding", "1"});
    keys.push_back({"residual_multiplier", "model.multiplier.residual", "1"});
    keys.push_back({.name = "logits_scaling",
                    .deck_key = "model.multiplier.logits",
                    .fallback = "1",
                    .form = HfForm::divisor});
    return {
        .model_type = "granite",
        .architecture = "GraniteForCausalLM",
        .prefix = "model.",
        .tensors = gated_hf_tensors(),
        .head = "lm_head.weight",
        .left_out = {"model.layers.{}.self_attn.rotary_emb.inv_freq"},
        .keys = keys,
        .facts = {{"hidden_act", {"\"silu\"", "\"swish\""}}},
        .fields = gated_hf_fields({{"hidden_act", hf_text},
                                   {"attention_bias", hf_boolean},
                                   {"mlp_bias", hf_boolean},
                                   {"embedding_multiplier", hf_whole | hf_real},
                                   {"logits_scaling", hf_whole | hf_real},
                                   {"residual_multiplier", hf_whole | hf_real},
                                   {"attention_multiplier", hf_whole | hf_real}}),
    };
}

}  // namespace

const FamilyDescriptor& granite_family() {
    static const FamilyDescriptor described{
        .name = "granite",
        .doc = "layers of llama; model.attention_scale and model.multiplier",
        .norm = NormKind::rms_norm,
        .positions = Positions::rotary,
        .has_grouped_queries = true,
        .ties_embeddings = true,
        .has_optional_biases = true,
        .has_attention_scale = true,
        .has_multipliers = true,
        .usual_ffn_hidden = gated_ffn_hidden,
        .usual_ffn_formula = gated_ffn_formula,
        .layer = decoder_layer,
        .presets = {Preset{"granite-3.3-2b", model_of(2048, 8192)}, granite_8b()},
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
