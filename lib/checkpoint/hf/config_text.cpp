#include "checkpoint/hf/config_text.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/contract.hpp"
#include "layout/families/family_descriptor.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

using Json = nlohmann::ordered_json;

/// Returns the value of a deck key.
Json value_of(const spec::Model& model, std::string_view deck_key) {
    const struct {
        std::string_view deck_key;
        Json value;
    } values[] = {{"model.layers", model.layers},
                  {"model.hidden", model.hidden},
                  {"model.heads", model.heads},
                  {"model.kv_heads", model.kv_heads},
                  {"model.head_dim", model.head_dim},
                  {"model.window", model.window > 0 ? Json(model.window) : Json(nullptr)},
                  {"model.bias.qkv", model.bias.qkv},
                  {"model.bias.output", model.bias.output},
                  {"model.bias.mlp", model.bias.mlp},
                  {"model.attention_scale",
                   model.attention_scale > 0 ? model.attention_scale : model.usual_attention_scale()},
                  {"model.multiplier.embedding", model.multiplier.embedding},
                  {"model.multiplier.residual", model.multiplier.residual},
                  {"model.multiplier.logits", model.multiplier.logits},
                  {"model.ffn_hidden", model.ffn_hidden},
                  {"model.vocab", model.vocab},
                  {"model.max_seq", model.max_seq},
                  {"model.tie_embeddings", model.tie_embeddings},
                  {"model.norm_epsilon", model.norm_epsilon},
                  {"model.rope_theta", model.rope_theta},
                  {"model.rotary_fraction", model.rotary_fraction}};
    for (const auto& row : values) {
        if (row.deck_key == deck_key) {
            return row.value;
        }
    }
    ZG_EXPECTS(false);
    return nullptr;
}

/// Returns the divisor whose reciprocal is `factor`, with as few digits as possible.
///
/// An import computes 1 / divisor, so an export writes the number that the imported file had.
double divisor_of(double factor) {
    for (int digits = 1; digits < std::numeric_limits<double>::max_digits10; ++digits) {
        const double rounded = std::stod(fmt::format("{:.{}g}", 1 / factor, digits));
        if (1 / rounded == factor) {
            return rounded;
        }
    }
    return 1 / factor;
}

Json scaling_of(const spec::RopeScaling& scaling) {
    if (scaling.kind == spec::RopeScalingKind::none) {
        return nullptr;
    }
    Json written{{"rope_type", layout::name_of(scaling.kind)}, {"factor", scaling.factor}};
    if (scaling.kind == spec::RopeScalingKind::by_parts) {
        written["low_freq_factor"] = scaling.low_freq_factor;
        written["high_freq_factor"] = scaling.high_freq_factor;
        written["original_max_position_embeddings"] = scaling.original_max_seq;
    }
    return written;
}

/// Writes the number of each layer, and the interval that they have.
void write_layers(Json& document, const layout::HfLayerList& list, const spec::Model& model) {
    ZG_EXPECTS(list.deck_key == std::string_view{"model.no_rope_interval"});
    const auto interval = model.no_rope_interval > 0 ? model.no_rope_interval : model.layers + 1;
    Json entries = Json::array();
    for (std::int64_t layer = 1; layer <= model.layers; ++layer) {
        entries.push_back(layer % interval == 0 ? list.special : list.usual);
    }
    document[list.name] = std::move(entries);
    document[list.interval] = interval;
}

}  // namespace

std::string config_text(const spec::Model& model, spec::DType type, const std::string& usage) {
    const auto& family = layout::family_of(model);
    const auto& published = family.published;
    Json document;
    document["architectures"] = Json::array({published.architecture});
    document["model_type"] = published.model_type;
    document["torch_dtype"] = type == spec::DType::f32 ? "float32" : "bfloat16";
    for (const auto& key : published.keys) {
        const auto value = value_of(model, key.deck_key);
        document[key.name] = key.is_reciprocal ? Json(divisor_of(value.get<double>())) : value;
    }
    for (const auto& list : published.layer_lists) {
        write_layers(document, list, model);
    }
    for (const auto& fact : published.facts) {
        document[fact.name] = Json::parse(fact.values.front());
    }
    if (family.has_rotary_positions()) {
        document["rope_scaling"] = scaling_of(model.rope_scaling);
    }
    const auto more = Json::parse(usage);
    for (const auto& [name, value] : more.items()) {
        document[name] = value;
    }
    return document.dump(2) + "\n";
}

}  // namespace ziggurat::checkpoint::hf
