/// Llama: RMSNorm before each branch, rotary positions, grouped queries, SwiGLU, biases only
/// on demand.
///
/// Source: Touvron et al., "LLaMA", 2023, section 2.2; Grattafiori et al., "The Llama 3 Herd of Models",
/// 2024, 3.2; presets: its table 3, and llama-1b: the configuration of Llama 3.2 1B, whose positions are
/// scaled beyond 8192 tokens.
#include "layout/families/gated_layer.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& llama_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    return gated_layer(model, layer, split, {.bias = model.bias});
}

spec::Model model_of(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t ffn_hidden) {
    spec::Model model;
    model.family = "llama";
    model.layers = layers;
    model.hidden = hidden;
    model.heads = heads;
    model.kv_heads = 8;
    model.ffn_hidden = ffn_hidden;
    model.vocab = 128256;
    model.max_seq = 8192;
    model.tie_embeddings = false;
    model.rope_theta = 500000;
    return model;
}

Preset llama_1b() {
    auto model = model_of(16, 2048, 32, 8192);
    model.tie_embeddings = true;
    return {"llama-1b", model};
}

/// Source: LlamaForCausalLM and LlamaConfig of transformers.
Published published() {
    auto keys = gated_hf_keys({});
    keys.push_back({"attention_bias", "model.bias.qkv", "false"});
    keys.push_back({"attention_bias", "model.bias.output", "false"});  // one key of the file sets both
    keys.push_back({"mlp_bias", "model.bias.mlp", "false"});
    return {
        .model_type = "llama",
        .architecture = "LlamaForCausalLM",
        .prefix = "model.",
        .tensors = gated_hf_tensors(),
        .head = "lm_head.weight",
        .left_out = {"model.layers.{}.self_attn.rotary_emb.inv_freq"},
        .keys = keys,
        .facts = {{"hidden_act", {"\"silu\"", "\"swish\""}}},
        .fields = gated_hf_fields({{"hidden_act", hf_text},
                                   {"head_dim", hf_whole | hf_null},
                                   {"attention_bias", hf_boolean},
                                   {"mlp_bias", hf_boolean},
                                   {"attention_dropout", hf_whole | hf_real | hf_null},
                                   {"pretraining_tp", hf_whole | hf_null}}),
        .has_whole_heads_only = true,
    };
}

}  // namespace

const FamilyDescriptor& llama_family() {
    static const FamilyDescriptor described{
        .name = "llama",
        .doc = "RMSNorm, SwiGLU, rotary positions, grouped queries",
        .norm = NormKind::rms_norm,
        .positions = Positions::rotary,
        .has_grouped_queries = true,
        .has_optional_biases = true,
        .has_own_head_dim = true,
        .usual_ffn_hidden = gated_ffn_hidden,
        .usual_ffn_formula = gated_ffn_formula,
        .layer = decoder_layer,
        .presets = {llama_1b(), Preset{"llama-8b", model_of(32, 4096, 32, 14336)},
                    Preset{"llama-70b", model_of(80, 8192, 64, 28672)}},
        .scaling_by_parts = "llama3",
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
