#include "deck/files/hf_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/file_kind.hpp"
#include "base/text/json_depth.hpp"
#include "deck/files/config_reading.hpp"
#include "deck/files/config_types.hpp"
#include "deck/files/hf_layer_list.hpp"
#include "deck/files/hf_positions.hpp"
#include "deck/files/hf_window.hpp"
#include "layout/families/family_descriptor.hpp"

namespace ziggurat::deck {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t max_bytes = std::int64_t{1} << 20;
constexpr int deepest = 16;

/// Keys of unsupported model features, unless they are missing, null, false or 0.
constexpr std::array refused_keys{"quantization_config", "sliding_window",
                                  "num_local_experts",   "num_experts",
                                  "n_routed_experts",    "is_encoder_decoder",
                                  "lora_config",         "per_layer_config",
                                  "mlp_layer_types",     "use_bidirectional_attention"};

bool prints_nothing(const Json& value) {
    return value.is_null() || value == false || (value.is_number() && value == 0);
}

/// Reader of one file.
class Reading {
  public:
    Reading(HfConfig& config, Json document) : reading_{config, std::move(document)} {}

    void run() {
        const Json* type = ConfigReading::find_value(reading_.document(), "model_type");
        if (type == nullptr || !type->is_string()) {
            reading_.report_finding("model_type", "it has no model_type",
                                    "it identifies the family of the model", "Name the folder of a model.");
            return;
        }
        const auto all = layout::families();
        const auto family = std::ranges::find_if(all, [&](const auto* each) {
            const char* const wrapper = each->published.wrapper.model_type;
            return *type == each->published.model_type || (wrapper != nullptr && *type == wrapper);
        });
        if (family == all.end()) {
            std::vector<std::string> names;
            for (const auto* each : all) {
                names.emplace_back(each->published.model_type);
            }
            reading_.report_finding("model_type",
                                    fmt::format("model_type {} is not implemented", shown(*type)),
                                    "models of this type have layers that no family here has",
                                    fmt::format("Use a model of type {}.", fmt::join(names, ", ")));
            return;
        }
        reading_.record("model.family", (*family)->name, "model_type");
        if (*type != (*family)->published.model_type && !take_text_part((*family)->published)) {
            return;
        }
        if (!check_types(reading_, **family)) {
            return;
        }
        for (const auto& key : (*family)->published.keys) {
            const std::string_view by_others[] = {"model.window", window_theta_key};
            if (key.in_rope_parameters == nullptr && std::ranges::count(by_others, key.deck_key) == 0) {
                take(key);
            }
        }
        for (const auto& fact : (*family)->published.facts) {
            expect(fact);
        }
        for (const auto& list : (*family)->published.layer_lists) {
            read_layer_list(reading_, list);
        }
        read_window(reading_, **family);
        for (const char* key : refused_keys) {
            if (is_used((*family)->published, key)) {
                continue;
            }
            if (const Json* value = ConfigReading::find_value(reading_.document(), key);
                value != nullptr && !prints_nothing(*value)) {
                reading_.report_finding(key, fmt::format("{} = {} is not implemented", key, shown(*value)),
                                        "models in Ziggurat do not use it", "Use a model without it.");
            }
        }
        if ((*family)->has_rotary_positions()) {
            read_positions(reading_, **family);
        }
    }

  private:
    /// Reads on in the map of the text part. Returns false, after an error, if the file does not have it.
    bool take_text_part(const layout::Published& published) {
        const char* const name = published.wrapper.text_config;
        const Json* part = ConfigReading::find_value(reading_.document(), name);
        const Json* type = part == nullptr ? nullptr : ConfigReading::find_value(*part, "model_type");
        if (part == nullptr || !part->is_object() || (type != nullptr && *type != published.model_type)) {
            reading_.report_finding(
                name, fmt::format("{} is not that of a model of type {}", name, published.model_type),
                fmt::format("model_type \"{}\" has its text part there", published.wrapper.model_type),
                "Fetch the model again.");
            return false;
        }
        reading_.enter(name);
        return true;
    }

    /// Records the key's value, found by its name or its alias.
    void take(const layout::HfKey& key) {
        const auto& document = reading_.document();
        const Json* value = ConfigReading::find(document, key.name);
        std::string name = key.name;
        if (key.alias != nullptr) {
            const Json* other = ConfigReading::find_value(document, key.alias);
            if (other != nullptr && value != nullptr && *value != *other) {
                reading_.report_finding(
                    key.alias,
                    fmt::format("{} = {} contradicts {} = {}", key.alias, shown(*other), key.name,
                                shown(*value)),
                    fmt::format("both determine {}", key.deck_key),
                    "Keep the value that the model was trained with, and remove the other.");
            }
            if (value == nullptr) {
                value = other;
                name = key.alias;
            }
        }
        const std::string_view fallback = key.fallback == nullptr ? "" : key.fallback;
        const bool is_null = value != nullptr && value->is_null();
        if (is_null && key.on_null != nullptr) {
            reading_.record(key.deck_key, key.on_null, name);
        } else if (value == nullptr || (is_null && (fallback.empty() || fallback == "auto"))) {
            take_fallback(key);
        } else if (is_null && (fallback == "true" || fallback == "false")) {
            reading_.record(key.deck_key, "false", name);  // as Python evaluates None
        } else if (key.form != layout::HfForm::same) {
            take_divisor(key, *value);
        } else if (auto text = reading_.text_of(name, *value)) {
            reading_.record(key.deck_key, std::move(*text), name);
        }
    }

    void take_divisor(const layout::HfKey& key, const Json& value) {
        if (!value.is_number() || value <= 0) {
            reading_.report_finding(key.name, fmt::format("{} = {}", key.name, shown(value)),
                                    "a positive number is expected there",
                                    "Fetch or export the model again.");
        } else {
            const auto number = value.get<double>();
            const auto divisor = key.form == layout::HfForm::squared_divisor ? std::sqrt(number) : number;
            reading_.record(key.deck_key, fmt::format("{}", 1 / divisor), key.name);
        }
    }

    void take_fallback(const layout::HfKey& key) {
        if (key.fallback != nullptr) {
            reading_.record(key.deck_key, key.fallback, key.name);
        } else {
            reading_.report_finding(key.name, fmt::format("it has no {}", key.name),
                                    fmt::format("it determines {}", key.deck_key),
                                    "Fetch or export the model again.");
        }
    }

    void expect(const layout::HfFact& fact) {
        const Json* value = ConfigReading::find(reading_.document(), fact.name);
        const bool is_as_built =
            value == nullptr || std::ranges::any_of(fact.values, [&](const char* known) {
                const auto implemented = Json::parse(known);
                return *value == implemented || (value->is_null() && implemented == false);
            });
        if (!is_as_built) {
            reading_.report_finding(
                fact.name, fmt::format("{} = {} is not implemented", fact.name, shown(*value)),
                fmt::format("models of this family have {} here", fmt::join(fact.values, " or ")),
                "Use a model that has it.");
        }
    }

    /// True if the family reads the key or fixes its value, or the file says that it has no effect.
    bool is_used(const layout::Published& published, std::string_view name) const {
        const auto is_key = [&](const layout::HfKey& key) { return key.name == name; };
        const auto is_fact = [&](const layout::HfFact& fact) { return fact.name == name; };
        if (std::ranges::any_of(published.keys, is_key) || std::ranges::any_of(published.facts, is_fact)) {
            return true;
        }
        const char* const by = published.window_switch;
        if (name != "sliding_window" || by == nullptr) {
            return false;
        }
        const Json* value = ConfigReading::find_value(reading_.document(), by);
        return value == nullptr || *value == false;
    }

    ConfigReading reading_;
};

/// Adds an error about the whole file.
void refuse(HfConfig& config,
            std::string reason,
            std::string remedy = "Name the folder of a model in the Hugging Face format.") {
    config.reasons.push_back({"cannot read the model's configuration", std::move(reason), std::move(remedy)});
}

}  // namespace

HfConfig read_published_config(const std::string& folder) {
    namespace fs = std::filesystem;
    HfConfig config;
    config.file = folder + "/" + hf_config_name;
    std::error_code error;
    if (const auto other = irregular_file(config.file); !other.empty()) {
        refuse(config, fmt::format("it is {}, not a file", other));
        return config;
    }
    if (!fs::is_regular_file(config.file, error)) {
        config.is_missing = true;
        refuse(config, "there is no such file");
        return config;
    }
    if (const auto bytes = fs::file_size(config.file, error); error || bytes > max_bytes) {
        refuse(config, error ? error.message() : fmt::format("it has {} bytes", bytes));
        return config;
    }
    std::ifstream file{config.file, std::ios::binary};
    return read_config_text(config.file, {std::istreambuf_iterator<char>{file}, {}});
}

HfConfig read_config_text(std::string file, std::string text) {
    HfConfig config{.file = std::move(file), .text = std::move(text), .values = {}, .reasons = {}};
    if (const auto found = recognise_file(config.text)) {
        refuse(config, fmt::format("it is {}", found->what), found->remedy);
        return config;
    }
    if (is_json_deeper(config.text, deepest)) {
        refuse(config, "it nests too deep");
        return config;
    }
    Json document;
    try {
        document = Json::parse(config.text);
    } catch (const Json::parse_error& problem) {
        const auto at = location_in(config.text, std::max<std::size_t>(problem.byte, 1) - 1);
        refuse(config, "its text is not valid JSON here", "Fetch or export the model again.");
        config.reasons.back().line = at.line;
        config.reasons.back().column = at.column;
        return config;
    } catch (const Json::exception&) {
        refuse(config, "a number in it is beyond the range of numbers", "Fetch or export the model again.");
        return config;
    }
    if (document.is_object()) {
        Reading{config, std::move(document)}.run();
    } else {
        refuse(config, "it is not a JSON object");
    }
    return config;
}

}  // namespace ziggurat::deck
