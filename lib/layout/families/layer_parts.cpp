#include "layout/families/layer_parts.hpp"

#include <cmath>
#include <utility>

#include "base/contract.hpp"
#include "layout/families/attention_window.hpp"

namespace ziggurat::layout {

namespace {

/// Returns the width of qkv per token over the whole tensor axis.
///
/// Shared key/value heads count once per rank.
std::int64_t qkv_width(const UnitBuilder& unit) {
    const auto& model = unit.model();
    return (model.heads + 2 * local_kv_heads(model, unit.tensor()) * unit.tensor()) * model.head_dim;
}

}  // namespace

double residual_std(const spec::Model& model) {
    return model.init_std / std::sqrt(2.0 * static_cast<double>(model.layers));
}

int qkv_product(UnitBuilder& unit, int h, const std::string& name, Bias bias) {
    const auto& model = unit.model();
    const auto hidden = model.hidden;
    const double std = model.init_std;
    const auto q_width = model.heads * model.head_dim;
    const auto kv_width = model.kv_heads * model.head_dim;
    const auto keys_or_values = [&](const char* tensor, Role role, std::vector<std::int64_t> extents,
                                    Initial initial) {
        const int added = unit.joined_parameter(tensor, role, std::move(extents), initial, 0, std);
        unit.limit_slices(added, model.kv_heads);
        return added;
    };
    std::vector<int> parameters{
        unit.parameter("attention.q.weight", Role::weight, {q_width, hidden}, Initial::normal, 0, std)};
    for (const char* tensor : {"attention.k.weight", "attention.v.weight"}) {
        parameters.push_back(keys_or_values(tensor, Role::weight, {kv_width, hidden}, Initial::normal));
    }
    if (bias == Bias::with) {
        parameters.push_back(unit.parameter("attention.q.bias", Role::bias, {q_width}, Initial::zero, 0));
        for (const char* tensor : {"attention.k.bias", "attention.v.bias"}) {
            parameters.push_back(keys_or_values(tensor, Role::bias, {kv_width}, Initial::zero));
        }
    }
    return unit.column_linear("qkv", h, name, qkv_width(unit), std::move(parameters));
}

int head_norm_phase(UnitBuilder& unit, int raw, const std::string& name) {
    const auto head_dim = unit.model().head_dim;
    const int of_queries = unit.gain("attention.q_norm.gain", head_dim);
    const int of_keys = unit.gain("attention.k_norm.gain", head_dim);
    unit.join_to_previous(of_keys);
    const int normalized = unit.value(name, qkv_width(unit), Placement::split_width);
    auto& made = unit.phase("head_norm", PhaseKind::head_norm);
    made.reads = {{raw, Role::input, Placement::split_width}};
    made.writes = {{normalized, Role::output, Placement::split_width}};
    made.kept = {{raw, Role::input, Placement::split_width}};
    for (const int gain : {of_queries, of_keys}) {
        unit.sum_over_heads(gain);
        made.parameters.push_back({gain});
    }
    made.gradient = GradientRule::in_place;
    made.gain_offset = unit.gain_offset();
    made.redone_by_selective = true;
    return normalized;
}

int whole_norm_phases(UnitBuilder& unit, int raw, const std::string& name) {
    const auto& model = unit.model();
    ZG_EXPECTS(unit.gain_offset() == 0);
    const auto gain = [&](const char* tensor, std::int64_t heads) {
        return unit.parameter(tensor, Role::gain, {heads * model.head_dim}, Initial::one, 0);
    };
    const int of_queries = gain("attention.q_norm.gain", model.heads);
    const int of_keys = gain("attention.k_norm.gain", model.kv_heads);
    unit.join_to_previous(of_keys);
    unit.limit_slices(of_keys, model.kv_heads);

    const auto placement = unit.tensor() > 1 ? Placement::partial : Placement::replicated;
    const int sums = unit.value("qk.square_sums", 2, placement, ElementType::f32);
    auto& sum = unit.phase("square_sum", PhaseKind::square_sum);
    sum.reads = {{raw, Role::input, Placement::split_width}};
    sum.writes = {{sums, Role::output, Placement::partial}};
    sum.kept = {{raw, Role::input, Placement::split_width}};
    sum.gradient = GradientRule::add_in_place;

    const int normalized = unit.value(name, qkv_width(unit), Placement::split_width);
    auto& made = unit.phase("whole_norm", PhaseKind::whole_norm);
    made.reads = {{raw, Role::input, Placement::split_width},
                  {sums, Role::square_sums, Placement::replicated}};
    made.writes = {{normalized, Role::output, Placement::split_width}};
    made.kept = {{raw, Role::input, Placement::split_width},
                 {sums, Role::square_sums, Placement::replicated}};
    made.parameters = {{of_queries}, {of_keys}};
    made.gradient = GradientRule::in_place;
    made.redone_by_selective = true;
    return normalized;
}

int rope_phase(UnitBuilder& unit, int raw, bool redone) {
    const auto& model = unit.model();
    const int qkv = unit.value("qkv", qkv_width(unit), Placement::split_width);
    auto& made = unit.phase("rope", PhaseKind::rope);
    made.reads = {{raw, Role::input, Placement::split_width}};
    made.writes = {{qkv, Role::output, Placement::split_width}};
    made.gradient = GradientRule::in_place;
    made.writes_in_place = true;
    made.redone_by_selective = redone;
    made.has_window_theta = model.window_rope_theta > 0 && window_of_layer(model, unit.layer()) > 0;
    return qkv;
}

int attention_phase(UnitBuilder& unit, int qkv) {
    const auto& model = unit.model();
    const auto width = model.heads * model.head_dim;
    const int out = unit.value("attended", width, Placement::split_width);
    const int lse = unit.value("lse", model.heads, Placement::split_width, ElementType::f32);
    auto& made = unit.phase("attention", PhaseKind::attention);
    made.reads = {{qkv, Role::input, Placement::split_width}};
    made.writes = {{out, Role::output, Placement::split_width}, {lse, Role::lse, Placement::split_width}};
    made.kept = {{qkv, Role::input, Placement::split_width},
                 {out, Role::output, Placement::split_width},
                 {lse, Role::lse, Placement::split_width}};
    made.has_dropout = model.dropout > 0;
    made.redone_by_selective = true;
    made.flops_per_token_and_key = 4.0 * static_cast<double>(width) / unit.tensor();
    made.window = window_of_layer(model, unit.layer());
    return out;
}

int attention_projection(UnitBuilder& unit, int attended, Bias bias) {
    const auto& model = unit.model();
    const auto width = model.heads * model.head_dim;
    std::vector<int> parameters{unit.parameter("attention.out.weight", Role::weight, {model.hidden, width},
                                               Initial::normal, 1, residual_std(model))};
    if (bias == Bias::with) {
        parameters.push_back(unit.parameter("attention.out.bias", Role::bias, {model.hidden}, Initial::zero));
    }
    return unit.row_linear("projection", attended, "attention.branch", width, std::move(parameters));
}

int mlp(UnitBuilder& unit, int h, PhaseKind activation, Bias bias) {
    const auto& model = unit.model();
    std::vector<int> parameters{unit.parameter(
        "mlp.up.weight", Role::weight, {model.ffn_hidden, model.hidden}, Initial::normal, 0, model.init_std)};
    if (bias == Bias::with) {
        parameters.push_back(unit.parameter("mlp.up.bias", Role::bias, {model.ffn_hidden}, Initial::zero, 0));
    }
    const int up = unit.column_linear("mlp_in", h, "mlp.up", model.ffn_hidden, std::move(parameters));
    return mlp_down(unit, activation_phase(unit, activation, up, GradientRule::in_place), bias);
}

int activation_phase(UnitBuilder& unit, PhaseKind kind, int x, GradientRule gradient) {
    const int active = unit.value("mlp.active", unit.model().ffn_hidden, Placement::split_width);
    auto& made = unit.phase("activation", kind);
    made.reads = {{x, Role::input, Placement::split_width}};
    made.writes = {{active, Role::output, Placement::split_width}};
    made.kept = {{x, Role::input, Placement::split_width}};
    made.gradient = gradient;
    made.redone_by_selective = true;
    return active;
}

int mlp_down(UnitBuilder& unit, int active, Bias bias) {
    const auto& model = unit.model();
    std::vector<int> parameters{unit.parameter("mlp.down.weight", Role::weight,
                                               {model.hidden, model.ffn_hidden}, Initial::normal, 1,
                                               residual_std(model))};
    if (bias == Bias::with) {
        parameters.push_back(unit.parameter("mlp.down.bias", Role::bias, {model.hidden}, Initial::zero));
    }
    return unit.row_linear("mlp_out", active, "mlp.branch", model.ffn_hidden, std::move(parameters));
}

}  // namespace ziggurat::layout
