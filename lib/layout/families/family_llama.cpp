/// Llama: RMSNorm before each branch, rotary positions, grouped queries, SwiGLU, no biases.
///
/// Source: Touvron et al., "LLaMA", 2023, section 2.2; Grattafiori et al., "The Llama 3 Herd of Models",
/// 2024, 3.2; presets: its table 3, and llama-1b: the configuration of Llama 3.2 1B, whose positions are
/// scaled beyond 8192 tokens.
#include "layout/families/family_descriptor.hpp"
#include "layout/families/layer_parts.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& llama_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, int tensor, bool sequence) {
    UnitBuilder unit{model, layer_name(layer), UnitKind::layer, layer, tensor, sequence};
    const int x = unit.value("x", model.hidden, unit.outside());
    unit.input(x);
    const int h1 = unit.norm("attn_norm", NormKind::rms_norm, x);
    const int qkv = rope_phase(unit, qkv_product(unit, h1, "qkv.raw", Biases::none));
    const int attended = attention_phase(unit, qkv);
    const int a = attention_projection(unit, attended, Biases::none);
    const auto [sum, h2] = unit.residual_norm("mlp_norm", NormKind::rms_norm, x, a);

    const std::vector<std::int64_t> extents{model.ffn_hidden, model.hidden};
    const int gate =
        unit.parameter("mlp.gate.weight", Role::weight, extents, Initial::normal, 0, model.init_std);
    const int up =
        unit.joined_parameter("mlp.up.weight", Role::weight, extents, Initial::normal, 0, model.init_std);
    const int gate_up = unit.column_linear("mlp_in", h2, "mlp.gate_up", 2 * model.ffn_hidden, {gate, up});
    const int active = activation_phase(unit, PhaseKind::swiglu, gate_up, GradientRule::fresh);
    unit.output(unit.residual("residual", sum, mlp_down(unit, active, Biases::none)));
    return unit.take();
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

/// Returns 8/3 hidden, so that three matrices have the size of two that are 4 hidden wide.
std::int64_t usual_ffn_hidden(std::int64_t hidden) {
    constexpr std::int64_t multiple = 256;
    return ((8 * hidden + 2) / 3 + multiple - 1) / multiple * multiple;
}

/// Source: LlamaForCausalLM and LlamaConfig of transformers.
Published published() {
    return {
        .model_type = "llama",
        .architecture = "LlamaForCausalLM",
        .prefix = "model.",
        .tensors = {{"model.embed_tokens.weight", {"embedding.token"}},
                    {"model.layers.{}.input_layernorm.weight", {"layers.{}.attn_norm.gain"}},
                    {"model.layers.{}.self_attn.q_proj.weight", {"layers.{}.attention.q.weight"}},
                    {"model.layers.{}.self_attn.k_proj.weight", {"layers.{}.attention.k.weight"}},
                    {"model.layers.{}.self_attn.v_proj.weight", {"layers.{}.attention.v.weight"}},
                    {"model.layers.{}.self_attn.o_proj.weight", {"layers.{}.attention.out.weight"}},
                    {"model.layers.{}.post_attention_layernorm.weight", {"layers.{}.mlp_norm.gain"}},
                    {"model.layers.{}.mlp.gate_proj.weight", {"layers.{}.mlp.gate.weight"}},
                    {"model.layers.{}.mlp.up_proj.weight", {"layers.{}.mlp.up.weight"}},
                    {"model.layers.{}.mlp.down_proj.weight", {"layers.{}.mlp.down.weight"}},
                    {"model.norm.weight", {"final_norm.gain"}}},
        .head = "lm_head.weight",
        .left_out = {"model.layers.{}.self_attn.rotary_emb.inv_freq"},
        .keys = {{"num_hidden_layers", "model.layers"},
                 {"hidden_size", "model.hidden"},
                 {"num_attention_heads", "model.heads"},
                 {"num_key_value_heads", "model.kv_heads", "auto"},
                 {"intermediate_size", "model.ffn_hidden"},
                 {"vocab_size", "model.vocab"},
                 {"max_position_embeddings", "model.max_seq"},
                 {"tie_word_embeddings", "model.tie_embeddings", "false"},
                 {"rms_norm_eps", "model.norm_epsilon", "1.0e-6"},
                 {"rope_theta", "model.rope_theta", "10000", "rope_theta"}},
        .facts = {{"hidden_act", {"\"silu\"", "\"swish\""}},
                  {"attention_bias", {"false"}},
                  {"mlp_bias", {"false"}}},
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
        .usual_ffn_hidden = usual_ffn_hidden,
        .usual_ffn_formula = "8/3 hidden, up to a multiple of 256",
        .layer = decoder_layer,
        .presets = {llama_1b(), Preset{"llama-8b", model_of(32, 4096, 32, 14336)},
                    Preset{"llama-70b", model_of(80, 8192, 64, 28672)}},
        .scaling_by_parts = "llama3",
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
