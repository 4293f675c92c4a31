#include "checkpoint/hf/config_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "layout/families/attention_window.hpp"
#include "layout/families/family_descriptor.hpp"
#include "layout/families/rope_scalings.hpp"
#include "layout/rotary_frequencies.hpp"

namespace ziggurat::checkpoint::hf {
namespace {

using Json = nlohmann::ordered_json;

/// Returns null for 0, which stands for "none".
template <class Number>
Json or_null(Number number) {
    return number > 0 ? Json(number) : Json(nullptr);
}

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
                  {"model.window", or_null(model.window)},
                  {"model.bias.qkv", model.bias.qkv},
                  {"model.bias.output", model.bias.output},
                  {"model.bias.mlp", model.bias.mlp},
                  {"model.attention_scale",
                   model.attention_scale > 0 ? model.attention_scale : model.usual_attention_scale()},
                  {"model.softcap.attention", or_null(model.softcap.attention)},
                  {"model.softcap.logits", or_null(model.softcap.logits)},
                  {"model.multiplier.embedding", model.multiplier.embedding},
                  {"model.multiplier.residual", model.multiplier.residual},
                  {"model.multiplier.logits", model.multiplier.logits},
                  {"model.ffn_hidden", model.ffn_hidden},
                  {"model.vocab", model.vocab},
                  {"model.max_seq", model.max_seq},
                  {"model.tie_embeddings", model.tie_embeddings},
                  {"model.norm_epsilon", model.norm_epsilon},
                  {"model.rope_theta", model.rope_theta},
                  {"model.window_rope_theta", model.window_rope_theta},
                  {"model.rotary_fraction", model.rotary_fraction}};
    for (const auto& row : values) {
        if (row.deck_key == deck_key) {
            return row.value;
        }
    }
    ZG_EXPECTS(false);
    return nullptr;
}

/// Returns the number from which an import computes `factor`, with as few digits as possible.
///
/// So an export writes the number that the imported file had.
double number_of(double factor, layout::HfForm form) {
    const bool is_squared = form == layout::HfForm::squared_divisor;
    const double exact = is_squared ? 1 / (factor * factor) : 1 / factor;
    for (int digits = 1; digits < std::numeric_limits<double>::max_digits10; ++digits) {
        const double rounded = std::stod(fmt::format("{:.{}g}", exact, digits));
        if (1 / (is_squared ? std::sqrt(rounded) : rounded) == factor) {
            return rounded;
        }
    }
    return exact;
}

/// Returns the value of a key as the class of transformers declares its type.
///
/// Errors: Error{deck} if the class cannot have the deck's value
Json value_for_class(const spec::Model& model, const layout::HfKey& key, const layout::Published& published) {
    const auto value = value_of(model, key.deck_key);
    if (key.form == layout::HfForm::same) {
        return value.is_null() && key.is_never_null ? Json::parse(key.fallback) : value;
    }
    const double number = number_of(value.get<double>(), key.form);
    if (!key.is_integer) {
        return number;
    }
    if (number != std::nearbyint(number)) {
        throw Error{
            ErrorKind::deck,
            fmt::format("cannot write config.json ({} = {}): {} of transformers has a whole number as "
                        "{}, and this scale needs {}. Train with {}: {} to export the model.",
                        key.deck_key, value.get<double>(), published.architecture, key.name, number,
                        key.deck_key, 1 / std::sqrt(std::max(1.0, std::nearbyint(number))))};
    }
    return static_cast<std::int64_t>(number);
}

/// Returns the object `usage`. Null replaces special tokens outside the vocabulary.
///
/// transformers 5 does not load a model with such a pad_token_id. Negative ids count from the end.
Json checked_usage(const std::string& usage, std::int64_t default_pad, std::int64_t vocab) {
    auto keys = Json::parse(usage);
    if (!keys.contains("pad_token_id") && default_pad >= vocab) {
        keys["pad_token_id"] = nullptr;
    }
    const auto is_outside = [&](const Json& id) {
        return id.is_number_integer() && (id.get<std::int64_t>() >= vocab || id.get<std::int64_t>() < -vocab);
    };
    for (const char* name : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
        const auto found = keys.find(name);
        if (found != keys.end() && is_outside(*found)) {
            *found = nullptr;
        }
    }
    return keys;
}

/// Returns the map of scaled positions; null if they are not scaled.
///
/// Values that transformers computes itself are left out.
Json scaling_of(const spec::Model& model) {
    const auto& scaling = model.rope_scaling;
    if (scaling.kind == spec::RopeScalingKind::none) {
        return nullptr;
    }
    const auto uses = [&](const char* key) { return layout::uses_key(scaling.kind, key); };
    const bool is_original_outside = layout::family_of(model).published.original_max_seq != nullptr;
    Json written{{is_original_outside ? "type" : "rope_type", layout::name_of(scaling.kind)}};
    const auto ratio =
        std::max(1.0, static_cast<double>(model.max_seq) / static_cast<double>(scaling.original_max_seq));
    if (!is_original_outside || scaling.factor != ratio) {
        written["factor"] = scaling.factor;
    }
    if (uses("low_freq_factor")) {
        written["low_freq_factor"] = scaling.low_freq_factor;
        written["high_freq_factor"] = scaling.high_freq_factor;
    }
    if (uses("original_max_seq") && !is_original_outside) {
        written["original_max_position_embeddings"] = scaling.original_max_seq;
    }
    if (uses("beta_fast")) {
        written["beta_fast"] = scaling.beta_fast;
        written["beta_slow"] = scaling.beta_slow;
    }
    if (uses("truncate") && !scaling.truncate) {
        written["truncate"] = false;
    }
    if (scaling.attention_factor != layout::usual_attention_factor(scaling)) {
        written["attention_factor"] = scaling.attention_factor;
    }
    if (uses("short_factors")) {
        written["short_factor"] = scaling.short_factors;
        written["long_factor"] = scaling.long_factors;
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

/// Writes which layers have a window, with the keys that the class reads.
void write_windows(Json& document, const layout::FamilyDescriptor& family, const spec::Model& model) {
    const auto& published = family.published;
    const bool has_window = model.window > 0;
    if (published.window_switch != nullptr) {
        document[published.window_switch] = has_window;
    }
    if (published.full_layers != nullptr) {
        document[published.full_layers] = has_window ? 0 : model.layers;
    }
    const auto interval = model.full_attention_interval;
    const bool has_one_kind = !has_window || interval == 0 || interval > model.layers;
    if (has_one_kind && published.usual_window_pattern == 0) {
        return;
    }
    if (!published.has_layer_types) {
        throw Error{ErrorKind::deck,
                    fmt::format("cannot write config.json (model.full_attention_interval = {}): {} of "
                                "transformers has one window for all layers. Train with "
                                "model.full_attention_interval: none to export the model.",
                                interval, published.architecture)};
    }
    auto types = Json::array();
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
        types.push_back(layout::window_of_layer(model, layer) > 0 ? "sliding_attention" : "full_attention");
    }
    document["layer_types"] = std::move(types);
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
        document[key.name] = value_for_class(model, key, published);
    }
    for (const auto& list : published.layer_lists) {
        write_layers(document, list, model);
    }
    if (family.has_window) {
        write_windows(document, family, model);
    }
    for (const auto& fact : published.facts) {
        document[fact.name] = Json::parse(fact.values.front());
    }
    if (family.has_rotary_positions()) {
        document["rope_scaling"] = scaling_of(model);
        if (published.original_max_seq != nullptr &&
            model.rope_scaling.kind == spec::RopeScalingKind::longrope) {
            document["original_max_position_embeddings"] = model.rope_scaling.original_max_seq;
        }
    }
    const auto more = checked_usage(usage, published.default_pad, model.vocab);
    for (const auto& [name, value] : more.items()) {
        document[name] = value;
    }
    return document.dump(2) + "\n";
}

}  // namespace ziggurat::checkpoint::hf
