/// Phi-3, 3.5 and 4: the layer of Llama. Files have q, k and v in one tensor, and gate and up in one.
///
/// Source: Abdin et al., "Phi-3 Technical Report", 2024, section 2; preset: Phi-4, 2024.
#include "layout/families/gated_layer.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& phi3_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    return gated_layer(model, layer, split, {});
}

Preset phi_4() {
    spec::Model model;
    model.family = "phi3";
    model.layers = 40;
    model.hidden = 5120;
    model.heads = 40;
    model.kv_heads = 10;
    model.ffn_hidden = 17920;
    model.vocab = 100352;
    model.max_seq = 16384;
    model.tie_embeddings = false;
    model.rope_theta = 250000;
    return {"phi-4", model};
}

/// Source: Phi3ForCausalLM and Phi3Config of transformers.
Published published() {
    auto keys = gated_hf_keys({.norm_epsilon = "1.0e-5"});
    keys.push_back({"sliding_window", "model.window", "none"});
    keys.push_back({"partial_rotary_factor", "model.rotary_fraction", "1", "partial_rotary_factor"});
    return {
        .model_type = "phi3",
        .architecture = "Phi3ForCausalLM",
        .prefix = "model.",
        .tensors = {{"model.embed_tokens.weight", {"embedding.token"}},
                    {"model.layers.{}.input_layernorm.weight", {"layers.{}.attn_norm.gain"}},
                    {"model.layers.{}.self_attn.qkv_proj.weight",
                     {"layers.{}.attention.q.weight", "layers.{}.attention.k.weight",
                      "layers.{}.attention.v.weight"}},
                    {"model.layers.{}.self_attn.o_proj.weight", {"layers.{}.attention.out.weight"}},
                    {"model.layers.{}.post_attention_layernorm.weight", {"layers.{}.mlp_norm.gain"}},
                    {"model.layers.{}.mlp.gate_up_proj.weight",
                     {"layers.{}.mlp.gate.weight", "layers.{}.mlp.up.weight"}},
                    {"model.layers.{}.mlp.down_proj.weight", {"layers.{}.mlp.down.weight"}},
                    {"model.norm.weight", {"final_norm.gain"}}},
        .head = "lm_head.weight",
        .left_out = {"model.layers.{}.self_attn.rotary_emb.inv_freq"},
        .keys = keys,
        .facts = {{"hidden_act", {"\"silu\"", "\"swish\""}},
                  {"embd_pdrop", {"0.0"}},
                  {"resid_pdrop", {"0.0"}},
                  {"attention_dropout", {"0.0"}}},
        .fields = gated_hf_fields({{"hidden_act", hf_text},
                                   {"sliding_window", hf_whole | hf_null},
                                   {"original_max_position_embeddings", hf_whole},
                                   {"resid_pdrop", hf_whole | hf_real},
                                   {"embd_pdrop", hf_whole | hf_real}}),
        .default_pad = 32000,
        .scalings = {spec::RopeScalingKind::longrope},
        .older_longrope = {"su", "yarn"},
        .original_max_seq = "4096",
    };
}

}  // namespace

const FamilyDescriptor& phi3_family() {
    static const FamilyDescriptor described{
        .name = "phi3",
        .doc = "layers of llama; model.window; published with q, k and v in one tensor",
        .norm = NormKind::rms_norm,
        .positions = Positions::rotary,
        .has_grouped_queries = true,
        .has_window = true,
        .has_own_head_dim = true,
        .usual_ffn_hidden = gated_ffn_hidden,
        .usual_ffn_formula = gated_ffn_formula,
        .layer = decoder_layer,
        .presets = {phi_4()},
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
