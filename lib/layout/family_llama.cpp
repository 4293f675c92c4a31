/// Llama: RMSNorm before each branch, rotary positions, grouped queries, SwiGLU, no biases.
///
/// Source: Touvron et al., "LLaMA", 2023, section 2.2; Grattafiori et al., "The Llama 3 Herd of Models",
/// 2024, 3.2.
#include <cmath>

#include "layout/unit_builder.hpp"

namespace ziggurat::layout {

Unit llama_layer(const spec::Model& model, int layer, int tensor, bool sequence) {
    UnitBuilder unit{model, "layers." + std::to_string(layer), UnitKind::layer, layer, tensor, sequence};
    const double std = model.init_std;
    const double residual_std = std / std::sqrt(2.0 * static_cast<double>(model.layers));
    const auto hidden = model.hidden;
    const auto q_width = model.heads * model.head_dim;
    const auto kv_width = model.kv_heads * model.head_dim;

    const int x = unit.value("x", hidden, unit.outside());
    unit.input(x);
    const int h1 = unit.norm("attn_norm", NormKind::rms_norm, x);

    const int qw = unit.parameter("attention.q.weight", "weight", {q_width, hidden}, Initial::normal, 0, std);
    const int kw =
        unit.joined_parameter("attention.k.weight", "weight", {kv_width, hidden}, Initial::normal, 0, std);
    const int vw =
        unit.joined_parameter("attention.v.weight", "weight", {kv_width, hidden}, Initial::normal, 0, std);
    const int raw = unit.column_linear("qkv", h1, "qkv.raw", q_width + 2 * kv_width, {qw, kw, vw});

    const int qkv = unit.value("qkv", q_width + 2 * kv_width, Placement::split_width);
    auto& rope = unit.phase("rope", PhaseKind::rope);
    rope.reads = {{raw, "input", Placement::split_width}};
    rope.writes = {{qkv, "output", Placement::split_width}};
    rope.gradient = GradientRule::in_place;
    rope.writes_in_place = true;

    const int attended = attention_phase(unit, qkv);

    const int ow =
        unit.parameter("attention.out.weight", "weight", {hidden, q_width}, Initial::normal, 1, residual_std);
    const int a = unit.row_linear("projection", attended, "attention.branch", q_width, {ow});
    const auto [sum, h2] = unit.residual_norm("mlp_norm", NormKind::rms_norm, x, a);

    const int gw =
        unit.parameter("mlp.gate.weight", "weight", {model.ffn_hidden, hidden}, Initial::normal, 0, std);
    const int uw =
        unit.joined_parameter("mlp.up.weight", "weight", {model.ffn_hidden, hidden}, Initial::normal, 0, std);
    const int gate_up = unit.column_linear("mlp_in", h2, "mlp.gate_up", 2 * model.ffn_hidden, {gw, uw});

    const int active = unit.value("mlp.active", model.ffn_hidden, Placement::split_width);
    auto& swiglu = unit.phase("activation", PhaseKind::swiglu);
    swiglu.reads = {{gate_up, "input", Placement::split_width}};
    swiglu.writes = {{active, "output", Placement::split_width}};
    swiglu.kept = {{gate_up, "input", Placement::split_width}};
    swiglu.gradient = GradientRule::fresh;
    swiglu.redone_by_selective = true;

    const int dw = unit.parameter("mlp.down.weight", "weight", {hidden, model.ffn_hidden}, Initial::normal, 1,
                                  residual_std);
    const int b = unit.row_linear("mlp_out", active, "mlp.branch", model.ffn_hidden, {dw});
    unit.output(unit.residual("residual", sum, b));
    return unit.take();
}

}  // namespace ziggurat::layout
