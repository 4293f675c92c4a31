/// GPT-NeoX: attention and MLP side by side, each behind a LayerNorm of its own; positions turn a part of
/// each head; exact GELU; biases everywhere but in the head.
///
/// Source: Black et al., "GPT-NeoX-20B", 2022, section 2.1; presets: Biderman et al., "Pythia", 2023, table
/// 1, with the vocabulary as it is padded in training.
#include "layout/family_descriptor.hpp"
#include "layout/layer_parts.hpp"

namespace ziggurat::layout {

const FamilyDescriptor& gpt_neox_family();

namespace {

constexpr double rotary_fraction = 0.25;

/// x + attention(norm(x)) + mlp(norm(x)). Both norms come first, so that in backward they come last: they add
/// to the gradient of x in the buffer that both branches have read as the gradient of their outputs.
Unit decoder_layer(const spec::Model& model, int layer, int tensor, bool sequence) {
    UnitBuilder unit{model, layer_name(layer), UnitKind::layer, layer, tensor, sequence};
    const int x = unit.value("x", model.hidden, unit.outside());
    unit.input(x);
    const int h1 = unit.norm("attn_norm", NormKind::layer_norm, x);
    const int h2 = unit.norm("mlp_norm", NormKind::layer_norm, x);
    const int qkv = rope_phase(unit, qkv_product(unit, h1, "qkv.raw", Biases::all));
    const int a = attention_projection(unit, attention_phase(unit, qkv), Biases::all);
    const int b = mlp(unit, h2, PhaseKind::gelu_erf, Biases::all);
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
    };
    return described;
}

}  // namespace ziggurat::layout
