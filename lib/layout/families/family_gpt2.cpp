/// GPT-2: LayerNorm before each branch, biases everywhere, GELU, learned positions.
///
/// Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.3; presets:
/// table 2, with the sizes counted in the released weights.
#include "layout/families/family_descriptor.hpp"
#include "layout/families/layer_parts.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& gpt2_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, const TensorSplit& split) {
    UnitBuilder unit{model, layer_name(layer), UnitKind::layer, layer, split};
    const int x = unit.value("x", model.hidden, unit.outside());
    unit.input(x);
    const int h1 = unit.norm("attn_norm", NormKind::layer_norm, x);
    const int attended = attention_phase(unit, qkv_product(unit, h1, "qkv", Bias::with));
    const int a = attention_projection(unit, attended, Bias::with);
    const auto [sum, h2] = unit.residual_norm("mlp_norm", NormKind::layer_norm, x, a);
    const int b = mlp(unit, h2, PhaseKind::gelu, Bias::with);
    unit.output(unit.residual("residual", sum, b));
    return unit.take();
}

Preset preset(const char* name, std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
    spec::Model model;
    model.family = "gpt2";
    model.layers = layers;
    model.hidden = hidden;
    model.heads = heads;
    model.kv_heads = heads;
    model.ffn_hidden = 4 * hidden;
    model.vocab = 50257;
    model.max_seq = 1024;
    model.tie_embeddings = true;
    return {name, model};
}

/// Source: GPT2LMHeadModel and GPT2Config of transformers, whose Conv1D keeps weights as [in, out].
Published published() {
    return {
        .model_type = "gpt2",
        .architecture = "GPT2LMHeadModel",
        .prefix = "transformer.",
        .tensors = {{"transformer.wte.weight", {"embedding.token"}},
                    {"transformer.wpe.weight", {"embedding.position"}},
                    {"transformer.h.{}.ln_1.weight", {"layers.{}.attn_norm.gain"}},
                    {"transformer.h.{}.ln_1.bias", {"layers.{}.attn_norm.bias"}},
                    {"transformer.h.{}.attn.c_attn.weight",
                     {"layers.{}.attention.q.weight", "layers.{}.attention.k.weight",
                      "layers.{}.attention.v.weight"},
                     true},
                    {"transformer.h.{}.attn.c_attn.bias",
                     {"layers.{}.attention.q.bias", "layers.{}.attention.k.bias",
                      "layers.{}.attention.v.bias"}},
                    {"transformer.h.{}.attn.c_proj.weight", {"layers.{}.attention.out.weight"}, true},
                    {"transformer.h.{}.attn.c_proj.bias", {"layers.{}.attention.out.bias"}},
                    {"transformer.h.{}.ln_2.weight", {"layers.{}.mlp_norm.gain"}},
                    {"transformer.h.{}.ln_2.bias", {"layers.{}.mlp_norm.bias"}},
                    {"transformer.h.{}.mlp.c_fc.weight", {"layers.{}.mlp.up.weight"}, true},
                    {"transformer.h.{}.mlp.c_fc.bias", {"layers.{}.mlp.up.bias"}},
                    {"transformer.h.{}.mlp.c_proj.weight", {"layers.{}.mlp.down.weight"}, true},
                    {"transformer.h.{}.mlp.c_proj.bias", {"layers.{}.mlp.down.bias"}},
                    {"transformer.ln_f.weight", {"final_norm.gain"}},
                    {"transformer.ln_f.bias", {"final_norm.bias"}}},
        .head = "lm_head.weight",
        .left_out = {"transformer.h.{}.attn.bias", "transformer.h.{}.attn.masked_bias"},
        .keys = {{.name = "n_layer", .deck_key = "model.layers", .alias = "num_hidden_layers"},
                 {.name = "n_embd", .deck_key = "model.hidden", .alias = "hidden_size"},
                 {.name = "n_head", .deck_key = "model.heads", .alias = "num_attention_heads"},
                 {"n_inner", "model.ffn_hidden", "auto"},
                 {"vocab_size", "model.vocab"},
                 {.name = "n_positions", .deck_key = "model.max_seq", .alias = "max_position_embeddings"},
                 {"tie_word_embeddings", "model.tie_embeddings", "true"},
                 {"layer_norm_epsilon", "model.norm_epsilon", "1.0e-5"}},
        .facts = {{"activation_function", {"\"gelu_new\"", "\"gelu_pytorch_tanh\""}},
                  {"scale_attn_weights", {"true"}},
                  {"scale_attn_by_inverse_layer_idx", {"false"}},
                  {"add_cross_attention", {"false"}}},
        .fields = hf_fields({{"n_positions", hf_whole},
                             {"n_embd", hf_whole},
                             {"n_layer", hf_whole},
                             {"n_head", hf_whole},
                             {"n_inner", hf_whole | hf_null},
                             {"activation_function", hf_text},
                             {"layer_norm_epsilon", hf_real},
                             {"resid_pdrop", hf_whole | hf_real},
                             {"embd_pdrop", hf_whole | hf_real},
                             {"attn_pdrop", hf_whole | hf_real},
                             {"summary_first_dropout", hf_whole | hf_real},
                             {"scale_attn_weights", hf_boolean},
                             {"scale_attn_by_inverse_layer_idx", hf_boolean},
                             {"reorder_and_upcast_attn", hf_boolean},
                             {"add_cross_attention", hf_boolean},
                             {"summary_use_proj", hf_boolean},
                             {"summary_proj_to_labels", hf_boolean},
                             {"summary_type", hf_text},
                             {"summary_activation", hf_text | hf_null}}),
    };
}

}  // namespace

const FamilyDescriptor& gpt2_family() {
    static const FamilyDescriptor described{
        .name = "gpt2",
        .doc = "LayerNorm, GELU, learned positions",
        .norm = NormKind::layer_norm,
        .positions = Positions::learned,
        .has_dropout = true,
        .ties_embeddings = true,
        .usual_ffn_hidden = [](std::int64_t hidden) { return 4 * hidden; },
        .usual_ffn_formula = "4 hidden",
        .layer = decoder_layer,
        .presets = {preset("gpt2-124m", 12, 768, 12), preset("gpt2-350m", 24, 1024, 16),
                    preset("gpt2-774m", 36, 1280, 20), preset("gpt2-1558m", 48, 1600, 25)},
        .published = published(),
    };
    return described;
}

}  // namespace ziggurat::layout
