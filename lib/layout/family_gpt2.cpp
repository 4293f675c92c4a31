/// GPT-2: LayerNorm before each branch, biases everywhere, GELU, learned positions.
///
/// Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.3; presets:
/// table 2, with the sizes counted in the released weights.
#include "layout/family_descriptor.hpp"
#include "layout/layer_parts.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& gpt2_family();

namespace {

Unit decoder_layer(const spec::Model& model, int layer, int tensor, bool sequence) {
    UnitBuilder unit{model, layer_name(layer), UnitKind::layer, layer, tensor, sequence};
    const int x = unit.value("x", model.hidden, unit.outside());
    unit.input(x);
    const int h1 = unit.norm("attn_norm", NormKind::layer_norm, x);
    const int attended = attention_phase(unit, qkv_product(unit, h1, "qkv", Biases::all));
    const int a = attention_projection(unit, attended, Biases::all);
    const auto [sum, h2] = unit.residual_norm("mlp_norm", NormKind::layer_norm, x, a);
    const int b = mlp(unit, h2, PhaseKind::gelu, Biases::all);
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
    };
    return described;
}

}  // namespace ziggurat::layout
