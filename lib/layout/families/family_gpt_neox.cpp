/// GPT-NeoX: attention and MLP in parallel, each after its own LayerNorm; exact GELU.
///
/// Rotary positions apply to a part of each head. All products except the head have biases.
///
/// Source: Black et al., "GPT-NeoX-20B", 2022, section 2.1; presets: Biderman et al., "Pythia", 2023, table
/// 1, with the vocabulary padded as in its training.
#include "layout/families/family_descriptor.hpp"
#include "layout/families/layer_parts.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& gpt_neox_family();

namespace {

constexpr double rotary_fraction = 0.25;

/// Builds x + attention(norm(x)) + mlp(norm(x)).
///
/// Both norms are the first phases, so they are the last in backward. There they add to the gradient of x in
/// the buffer that both branches have read as the gradient of their outputs.
Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    UnitBuilder unit{model, layer_name(layer), UnitKind::layer, layer, split};
    const int x = unit.value("x", model.hidden, unit.outside());
    unit.input(x);
    const int h1 = unit.norm("attn_norm", NormKind::layer_norm, x);
    const int h2 = unit.norm("mlp_norm", NormKind::layer_norm, x);
    const int qkv = rope_phase(unit, qkv_product(unit, h1, "qkv.raw", Bias::with));
    const int a = attention_projection(unit, attention_phase(unit, qkv), Bias::with);
    const int b = mlp(unit, h2, PhaseKind::gelu_erf, Bias::with);
    unit.output(unit.residual("residual", x, unit.sum_of_branches("branches", a, b)));
    return unit.take();
}

Preset preset(const char* name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
    spec::Model model;
    model.family = "gpt_neox";
    model.layers = layers;
    model.hidden = hidden;
    model.heads = heads;
    model.kv_heads = heads;
    model.ffn_hidden = 4 * hidden;
    model.vocab = 50304;
    model.max_seq = 2048;
    model.tie_embeddings = false;
    model.rope_theta = 10000;
    model.rotary_fraction = rotary_fraction;
    return {name, model};
}

/// Source: GPTNeoXForCausalLM and GPTNeoXConfig of transformers.
Published published() {
    return {
        .model_type = "gpt_neox",
        .architecture = "GPTNeoXForCausalLM",
        .prefix = "gpt_neox.",
        .tensors = {{"gpt_neox.embed_in.weight", {"embedding.token"}},
                    {"gpt_neox.layers.{}.input_layernorm.weight", {"layers.{}.attn_norm.gain"}},
                    {"gpt_neox.layers.{}.input_layernorm.bias", {"layers.{}.attn_norm.bias"}},
                    {"gpt_neox.layers.{}.post_attention_layernorm.weight", {"layers.{}.mlp_norm.gain"}},
                    {"gpt_neox.layers.{}.post_attention_layernorm.bias", {"layers.{}.mlp_norm.bias"}},
                    {"gpt_neox.layers.{}.attention.query_key_value.weight",
                     {"layers.{}.attention.q.weight", "layers.{}.attention.k.weight",
                      "layers.{}.attention.v.weight"},
                     false,
                     PartOrder::by_head},
                    {"gpt_neox.layers.{}.attention.query_key_value.bias",
                     {"layers.{}.attention.q.bias", "layers.{}.attention.k.bias",
                      "layers.{}.attention.v.bias"},
                     false,
                     PartOrder::by_head},
                    {"gpt_neox.layers.{}.attention.dense.weight", {"layers.{}.attention.out.weight"}},
                    {"gpt_neox.layers.{}.attention.dense.bias", {"layers.{}.attention.out.bias"}},
                    {"gpt_neox.layers.{}.mlp.dense_h_to_4h.weight", {"layers.{}.mlp.up.weight"}},
                    {"gpt_neox.layers.{}.mlp.dense_h_to_4h.bias", {"layers.{}.mlp.up.bias"}},
                    {"gpt_neox.layers.{}.mlp.dense_4h_to_h.weight", {"layers.{}.mlp.down.weight"}},
                    {"gpt_neox.layers.{}.mlp.dense_4h_to_h.bias", {"layers.{}.mlp.down.bias"}},
                    {"gpt_neox.final_layer_norm.weight", {"final_norm.gain"}},
                    {"gpt_neox.final_layer_norm.bias", {"final_norm.bias"}}},
        .head = "embed_out.weight",
        .left_out = {"gpt_neox.layers.{}.attention.bias", "gpt_neox.layers.{}.attention.masked_bias",
                     "gpt_neox.layers.{}.attention.rotary_emb.inv_freq"},
        .keys = {{"num_hidden_layers", "model.layers"},
                 {"hidden_size", "model.hidden"},
                 {"num_attention_heads", "model.heads"},
                 {"intermediate_size", "model.ffn_hidden"},
                 {"vocab_size", "model.vocab"},
                 {"max_position_embeddings", "model.max_seq"},
                 {"tie_word_embeddings", "model.tie_embeddings", "false"},
                 {"layer_norm_eps", "model.norm_epsilon", "1.0e-5"},
                 {"rotary_emb_base", "model.rope_theta", "10000", "rope_theta"},
                 {"rotary_pct", "model.rotary_fraction", "0.25", "partial_rotary_factor"}},
        .facts = {{"hidden_act", {"\"gelu\""}},
                  {"use_parallel_residual", {"true"}},
                  {"attention_bias", {"true"}}},
        .fields = hf_fields({{"hidden_size", hf_whole},
                             {"num_hidden_layers", hf_whole},
                             {"num_attention_heads", hf_whole},
                             {"intermediate_size", hf_whole},
                             {"max_position_embeddings", hf_whole},
                             {"hidden_act", hf_text},
                             {"layer_norm_eps", hf_real},
                             {"attention_dropout", hf_whole | hf_real},
                             {"hidden_dropout", hf_whole | hf_real},
                             {"classifier_dropout", hf_whole | hf_real},
                             {"use_parallel_residual", hf_boolean},
                             {"attention_bias", hf_boolean},
                             {"is_decoder", hf_boolean},
                             {"rope_parameters", hf_map | hf_null}}),
        .has_whole_heads_only = true,
    };
}

}  // namespace

const FamilyDescriptor& gpt_neox_family() {
    static const FamilyDescriptor described{
        .name = "gpt_neox",
        .doc =
            "LayerNorm, attention and MLP side by side, exact GELU, rotary positions on a part of each head",
        .norm = NormKind::layer_norm,
        .positions = Positions::rotary,
        .rotary_fraction = rotary_fraction,
        .usual_ffn_hidden = [](std::int64_t hidden) { return 4 * hidden; },
        .usual_ffn_formula = "4 hidden",
        .layer = decoder_layer,
        .presets = {preset("pythia-70m", 6, 512, 8), preset("pythia-160m", 12, 768, 12),
                    preset("pythia-410m", 24, 1024, 16), preset("pythia-1b", 16, 2048, 8),
                    preset("pythia-1.4b", 24, 2048, 16), preset("pythia-2.8b", 32, 2560, 32),
                    preset("pythia-6.9b", 32, 4096, 32), preset("pythia-12b", 36, 5120, 40)},
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
