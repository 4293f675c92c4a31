/// GPT-2: LayerNorm before each branch, biases everywhere, GELU, learned positions.
///
/// Source: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.3.
#include <cmath>

#include "layout/unit_builder.hpp"

namespace ziggurat::layout {

Unit gpt2_layer(const spec::Model& model, int layer, int tensor, bool sequence) {
    UnitBuilder unit{model, "layers." + std::to_string(layer), UnitKind::layer, layer, tensor, sequence};
    const double std = model.init_std;
    const double residual_std = std / std::sqrt(2.0 * static_cast<double>(model.layers));
    const auto hidden = model.hidden;
    const auto q_width = model.heads * model.head_dim;
    const auto kv_width = model.kv_heads * model.head_dim;

    const int x = unit.value("x", hidden, unit.outside());
    unit.input(x);
    const int h1 = unit.norm("attn_norm", NormKind::layer_norm, x);

    // q, k and v are tensors of their own, one behind the other, so that one product makes all three.
    const int qw = unit.parameter("attention.q.weight", "weight", {q_width, hidden}, Initial::normal, 0, std);
    const int kw =
        unit.joined_parameter("attention.k.weight", "weight", {kv_width, hidden}, Initial::normal, 0, std);
    const int vw =
        unit.joined_parameter("attention.v.weight", "weight", {kv_width, hidden}, Initial::normal, 0, std);
    const int qb = unit.parameter("attention.q.bias", "bias", {q_width}, Initial::zero, 0);
    const int kb = unit.joined_parameter("attention.k.bias", "bias", {kv_width}, Initial::zero, 0);
    const int vb = unit.joined_parameter("attention.v.bias", "bias", {kv_width}, Initial::zero, 0);
    const int qkv = unit.column_linear("qkv", h1, "qkv", q_width + 2 * kv_width, {qw, kw, vw, qb, kb, vb});

    const int attended = attention_phase(unit, qkv);

    const int ow =
        unit.parameter("attention.out.weight", "weight", {hidden, q_width}, Initial::normal, 1, residual_std);
    const int ob = unit.parameter("attention.out.bias", "bias", {hidden}, Initial::zero);
    const int a = unit.row_linear("projection", attended, "attention.branch", q_width, {ow, ob});
    const auto [sum, h2] = unit.residual_norm("mlp_norm", NormKind::layer_norm, x, a);

    const int uw =
        unit.parameter("mlp.up.weight", "weight", {model.ffn_hidden, hidden}, Initial::normal, 0, std);
    const int ub = unit.parameter("mlp.up.bias", "bias", {model.ffn_hidden}, Initial::zero, 0);
    const int up = unit.column_linear("mlp_in", h2, "mlp.up", model.ffn_hidden, {uw, ub});

    const int active = unit.value("mlp.active", model.ffn_hidden, Placement::split_width);
    auto& gelu = unit.phase("activation", PhaseKind::gelu);
    gelu.reads = {{up, "input", Placement::split_width}};
    gelu.writes = {{active, "output", Placement::split_width}};
    gelu.kept = {{up, "input", Placement::split_width}};
    gelu.gradient = GradientRule::in_place;
    gelu.redone_by_selective = true;

    const int dw = unit.parameter("mlp.down.weight", "weight", {hidden, model.ffn_hidden}, Initial::normal, 1,
                                  residual_std);
    const int db = unit.parameter("mlp.down.bias", "bias", {hidden}, Initial::zero);
    const int b = unit.row_linear("mlp_out", active, "mlp.branch", model.ffn_hidden, {dw, db});
    unit.output(unit.residual("residual", sum, b));
    return unit.take();
}

}  // namespace ziggurat::layout
