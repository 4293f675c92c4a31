#include "layout/families/gated_layer.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "layout/families/layer_parts.hpp"

namespace ziggurat::layout {
namespace {

constexpr const char* attn_norm_gain = "layers.{}.attn_norm.gain";
constexpr const char* mlp_norm_gain = "layers.{}.mlp_norm.gain";

Bias bias_if(bool has_bias) {
    return has_bias ? Bias::with : Bias::without;
}

/// Adds one product for gate and up, whose weight consists of two adjacent tensors. Returns its value.
int gate_and_up(UnitBuilder& unit, int h, bool has_biases) {
    const auto& model = unit.model();
    const std::vector<std::int64_t> extents{model.ffn_hidden, model.hidden};
    std::vector<int> parameters{
        unit.parameter("mlp.gate.weight", Role::weight, extents, Initial::normal, 0, model.init_std),
        unit.joined_parameter("mlp.up.weight", Role::weight, extents, Initial::normal, 0, model.init_std)};
    if (has_biases) {
        parameters.push_back(
            unit.parameter("mlp.gate.bias", Role::bias, {model.ffn_hidden}, Initial::zero, 0));
        parameters.push_back(
            unit.joined_parameter("mlp.up.bias", Role::bias, {model.ffn_hidden}, Initial::zero, 0));
    }
    return unit.column_linear("mlp_in", h, "mlp.gate_up", 2 * model.ffn_hidden, std::move(parameters));
}

/// Returns the stream twice: as the sum, and as what the branch reads.
std::pair<int, int> without_norm(int sum) {
    return {sum, sum};
}

}  // namespace

Unit gated_layer(const spec::Model& model,
                 int layer,
                 const TensorSplit& split,
                 const GatedLayer& differences) {
    UnitBuilder unit{model, layer_name(layer), UnitKind::layer, layer, split};
    const int x = unit.value("x", model.hidden, unit.outside());
    unit.input(x);
    const bool has_pre = differences.norms != NormPlacement::post;
    const bool has_post = differences.norms != NormPlacement::pre;
    const int h1 = has_pre ? unit.norm("attn_norm", NormKind::rms_norm, x) : x;
    const auto of_qkv = bias_if(differences.bias.qkv);
    const bool rotates = differences.rotates, normalizes = differences.qk_norm != QkNorm::none;
    int qkv = qkv_product(unit, h1, rotates || normalizes ? "qkv.raw" : "qkv", of_qkv);
    if (normalizes) {
        const auto add_norm = differences.qk_norm == QkNorm::heads ? head_norm_phase : whole_norm_phases;
        qkv = add_norm(unit, qkv, rotates ? "qkv.normalized" : "qkv");
    }
    if (rotates) {
        qkv = rope_phase(unit, qkv, normalizes);
    }
    const int attended = attention_phase(unit, qkv);
    int a = attention_projection(unit, attended, bias_if(differences.bias.output));
    if (has_post) {
        a = unit.norm("attn_post_norm", NormKind::rms_norm, a);
    }
    const auto [sum, h2] = has_pre ? unit.residual_norm("mlp_norm", NormKind::rms_norm, x, a)
                                   : without_norm(unit.residual("attn_residual", x, a));
    const int gate_up = gate_and_up(unit, h2, differences.bias.mlp);
    const int active = activation_phase(unit, differences.activation, gate_up, GradientRule::fresh);
    int m = mlp_down(unit, active, bias_if(differences.bias.mlp));
    if (has_post) {
        m = unit.norm("mlp_post_norm", NormKind::rms_norm, m);
    }
    unit.output(unit.residual("residual", sum, m));
    return unit.take();
}

std::int64_t gated_ffn_hidden(std::int64_t hidden) {
    constexpr std::int64_t multiple = 256;
    return ((8 * hidden + 2) / 3 + multiple - 1) / multiple * multiple;
}

std::vector<HfTensor> gated_hf_tensors() {
    return {
        {"model.embed_tokens.weight", {"embedding.token"}},
        {"model.layers.{}.input_layernorm.weight", {attn_norm_gain}},
        {"model.layers.{}.self_attn.q_proj.weight", {"layers.{}.attention.q.weight"}},
        {"model.layers.{}.self_attn.k_proj.weight", {"layers.{}.attention.k.weight"}},
        {"model.layers.{}.self_attn.v_proj.weight", {"layers.{}.attention.v.weight"}},
        {"model.layers.{}.self_attn.o_proj.weight", {"layers.{}.attention.out.weight"}},
        {"model.layers.{}.post_attention_layernorm.weight", {mlp_norm_gain}},
        {"model.layers.{}.mlp.gate_proj.weight", {"layers.{}.mlp.gate.weight"}},
        {"model.layers.{}.mlp.up_proj.weight", {"layers.{}.mlp.up.weight"}},
        {"model.layers.{}.mlp.down_proj.weight", {"layers.{}.mlp.down.weight"}},
        {.name = "model.layers.{}.self_attn.q_norm.weight",
         .parts = {"layers.{}.attention.q_norm.gain"},
         .is_optional = true},
        {.name = "model.layers.{}.self_attn.k_norm.weight",
         .parts = {"layers.{}.attention.k_norm.gain"},
         .is_optional = true},
        {.name = "model.layers.{}.self_attn.q_proj.bias",
         .parts = {"layers.{}.attention.q.bias"},
         .is_optional = true},
        {.name = "model.layers.{}.self_attn.k_proj.bias",
         .parts = {"layers.{}.attention.k.bias"},
         .is_optional = true},
        {.name = "model.layers.{}.self_attn.v_proj.bias",
         .parts = {"layers.{}.attention.v.bias"},
         .is_optional = true},
        {.name = "model.layers.{}.self_attn.o_proj.bias",
         .parts = {"layers.{}.attention.out.bias"},
         .is_optional = true},
        {.name = "model.layers.{}.mlp.gate_proj.bias",
         .parts = {"layers.{}.mlp.gate.bias"},
         .is_optional = true},
        {.name = "model.layers.{}.mlp.up_proj.bias", .parts = {"layers.{}.mlp.up.bias"}, .is_optional = true},
        {.name = "model.layers.{}.mlp.down_proj.bias",
         .parts = {"layers.{}.mlp.down.bias"},
         .is_optional = true},
        {"model.norm.weight", {"final_norm.gain"}}};
}

std::vector<HfTensor> sandwich_hf_tensors() {
    auto tensors = gated_hf_tensors();
    const auto before_mlp = std::ranges::find_if(
        tensors, [](const HfTensor& each) { return each.parts == std::vector{mlp_norm_gain}; });
    before_mlp->name = "model.layers.{}.pre_feedforward_layernorm.weight";
    tensors.push_back({"model.layers.{}.post_attention_layernorm.weight", {"layers.{}.attn_post_norm.gain"}});
    tensors.push_back(
        {"model.layers.{}.post_feedforward_layernorm.weight", {"layers.{}.mlp_post_norm.gain"}});
    return tensors;
}

std::vector<HfTensor> post_norm_hf_tensors() {
    auto tensors = sandwich_hf_tensors();
    std::erase_if(tensors, [](const HfTensor& each) {
        return each.parts == std::vector{attn_norm_gain} || each.parts == std::vector{mlp_norm_gain};
    });
    return tensors;
}

std::vector<HfKey> gated_hf_keys(const ClassDefaults& defaults) {
    return {{"num_hidden_layers", "model.layers"},
            {"hidden_size", "model.hidden"},
            {"num_attention_heads", "model.heads"},
            {.name = "num_key_value_heads",
             .deck_key = "model.kv_heads",
             .fallback = defaults.kv_heads,
             .on_null = "auto"},
            {"head_dim", "model.head_dim", defaults.head_dim},
            {"intermediate_size", "model.ffn_hidden"},
            {"vocab_size", "model.vocab"},
            {"max_position_embeddings", "model.max_seq"},
            {"tie_word_embeddings", "model.tie_embeddings", defaults.tie_embeddings},
            {"rms_norm_eps", "model.norm_epsilon", defaults.norm_epsilon},
            {"rope_theta", "model.rope_theta", defaults.rope_theta, "rope_theta"}};
}

std::vector<HfField> gated_hf_fields(const std::vector<HfField>& own) {
    auto fields = hf_fields({{"hidden_size", hf_whole},
                             {"intermediate_size", hf_whole},
                             {"num_hidden_layers", hf_whole},
                             {"num_attention_heads", hf_whole},
                             {"num_key_value_heads", hf_whole | hf_null},
                             {"max_position_embeddings", hf_whole},
                             {"rms_norm_eps", hf_real},
                             {"rope_parameters", hf_map | hf_null},
                             {"attention_dropout", hf_whole | hf_real}});
    for (const auto& field : own) {
        const auto found = std::ranges::find(fields, std::string_view{field.name},
                                             [](const HfField& each) { return std::string_view{each.name}; });
        if (found != fields.end()) {
            found->type = field.type;
        } else {
            fields.push_back(field);
        }
    }
    return fields;
}

}  // namespace ziggurat::layout
