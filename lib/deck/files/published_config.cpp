#include "deck/files/published_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file_kind.hpp"
#include "base/json_depth.hpp"
#include "base/printable.hpp"
#include "layout/family_descriptor.hpp"

namespace ziggurat::deck {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t most_bytes = std::int64_t{1} << 20;
constexpr int deepest = 16;
constexpr std::size_t told_bytes = 80;

/// Keys that say of any model what is not built, unless they are missing, null, false or 0.
constexpr std::array refused_keys{"quantization_config", "sliding_window",   "num_local_experts",
                                  "num_experts",         "n_routed_experts", "is_encoder_decoder",
                                  "lora_config"};

std::string told(const Json& value) {
    auto text = printable(value.dump(-1, ' ', false, Json::error_handler_t::replace));
    return text.size() > told_bytes ? text.substr(0, told_bytes) + "..." : text;
}

bool says_nothing(const Json& value) {
    return value.is_null() || value == false || (value.is_number() && value == 0);
}

/// The value of a deck that a number, a word or a truth of JSON is; nothing for any other.
std::optional<std::string> deck_text(const Json& value) {
    if (value.is_boolean()) {
        return value.get<bool>() ? "true" : "false";
    }
    return value.is_number() ? std::optional{value.dump()} : std::nullopt;
}

/// One file being read.
class Reading {
  public:
    // Round brackets: in others the document would become the element of a list.
    Reading(PublishedConfig& config, Json document) : config_{config}, document_(std::move(document)) {}

    void run() {
        const Json* type = find(document_, "model_type");
        if (type == nullptr || !type->is_string()) {
            trouble("model_type", "it has no model_type", "it says which family the model is of",
                    "Name the folder of a model.");
            return;
        }
        const auto all = layout::families();
        const auto family = std::find_if(
            all.begin(), all.end(), [&](const auto* each) { return *type == each->published.model_type; });
        if (family == all.end()) {
            std::vector<std::string> names;
            for (const auto* each : all) {
                names.emplace_back(each->published.model_type);
            }
            trouble("model_type", fmt::format("model_type {} is not built", told(*type)),
                    "models of this type have layers that no family here has",
                    fmt::format("Use a model of type {}.", fmt::join(names, ", ")));
            return;
        }
        say("model.family", (*family)->name, "model_type");
        for (const auto& key : (*family)->published.keys) {
            take(key);
        }
        for (const auto& fact : (*family)->published.facts) {
            expect(fact);
        }
        for (const char* key : refused_keys) {
            if (const Json* value = find(document_, key); value != nullptr && !says_nothing(*value)) {
                trouble(key, fmt::format("{} = {} is not built", key, told(*value)),
                        "models here compute without it", "Use a model without it.");
            }
        }
        expect_whole_heads();
        if ((*family)->has_rotary_positions()) {
            take_rope_scaling();
        }
    }

  private:
    static const Json* find(const Json& map, const char* key) {
        const auto at = map.is_object() ? map.find(key) : map.end();
        return at == map.end() || at->is_null() ? nullptr : &*at;
    }

    /// Line of the first mention of a key.
    int line_of(const std::string& key) const {
        const auto at = config_.text.find('"' + key + '"');
        return at == std::string::npos
                   ? 0
                   : 1 + static_cast<int>(std::count(config_.text.begin(),
                                                     config_.text.begin() + static_cast<std::ptrdiff_t>(at),
                                                     '\n'));
    }

    void say(const std::string& deck_key, std::string text, const std::string& key) {
        config_.values.push_back({deck_key, std::move(text), key, key.empty() ? 0 : line_of(key)});
    }

    void trouble(const std::string& key, std::string problem, std::string why, std::string advice) {
        config_.troubles.push_back({std::move(problem), std::move(why), std::move(advice), line_of(key)});
    }

    /// A number or a truth; nothing, after a complaint, for anything else.
    std::optional<std::string> text_of(const std::string& key, const Json& value) {
        auto text = deck_text(value);
        if (!text) {
            trouble(key, fmt::format("{} = {}", key, told(value)), "a number is expected there",
                    "Fetch or export the model again.");
        }
        return text;
    }

    void take(const layout::PublishedKey& key) {
        const Json* value = find(document_, key.name);
        std::string name = key.name;
        if (value == nullptr && key.in_rope_parameters != nullptr) {
            if (const Json* map = find(document_, "rope_parameters"); map != nullptr) {
                value = find(*map, key.in_rope_parameters);
                name = key.in_rope_parameters;
            }
        }
        if (value != nullptr) {
            if (auto text = text_of(name, *value)) {
                say(key.deck_key, std::move(*text), name);
            }
        } else if (key.fallback != nullptr) {
            say(key.deck_key, key.fallback, "");
        } else {
            trouble(key.name, fmt::format("it has no {}", key.name),
                    fmt::format("it says what {} is", key.deck_key), "Fetch or export the model again.");
        }
    }

    void expect(const layout::PublishedFact& fact) {
        const Json* value = find(document_, fact.name);
        const bool is_as_built = value == nullptr || std::ranges::any_of(fact.values, [&](const char* known) {
                                     return *value == Json::parse(known);
                                 });
        if (!is_as_built) {
            trouble(fact.name, fmt::format("{} = {} is not built", fact.name, told(*value)),
                    fmt::format("models of this family have {} here", fmt::join(fact.values, " or ")),
                    "Use a model that has it.");
        }
    }

    /// Heads that together are as wide as the model.
    void expect_whole_heads() {
        const Json* channels = find(document_, "head_dim");
        const Json* heads = find(document_, "num_attention_heads");
        const Json* hidden = find(document_, "hidden_size");
        if (channels == nullptr || heads == nullptr || hidden == nullptr || !channels->is_number_integer() ||
            !heads->is_number_integer() || !hidden->is_number_integer()) {
            return;
        }
        const auto count = heads->get<std::int64_t>();
        if (count <= 0 || hidden->get<std::int64_t>() / count != channels->get<std::int64_t>()) {
            trouble("head_dim", fmt::format("head_dim = {} is not built", told(*channels)),
                    "a head has hidden_size / num_attention_heads channels here", "Use a model that has it.");
        }
    }

    void take_rope_scaling() {
        const Json* map = find(document_, "rope_scaling");
        if (map == nullptr) {
            map = find(document_, "rope_parameters");
        }
        const Json* type = map == nullptr ? nullptr : find(*map, "rope_type");
        const char* type_key = "rope_type";
        if (type == nullptr && map != nullptr) {
            type = find(*map, "type");
            type_key = "type";
        }
        if (type == nullptr || *type == "default") {
            say("model.rope_scaling.kind", "none", type == nullptr ? "" : type_key);
            return;
        }
        const bool is_by_parts = *type == layout::name_of(spec::RopeScalingKind::by_parts);
        if (*type != layout::name_of(spec::RopeScalingKind::linear) && !is_by_parts) {
            trouble(type_key, fmt::format("rope type {} is not built", told(*type)),
                    fmt::format("positions are turned as they are, {} or {}",
                                layout::name_of(spec::RopeScalingKind::linear),
                                layout::name_of(spec::RopeScalingKind::by_parts)),
                    "Use a model with one of these.");
            return;
        }
        say("model.rope_scaling.kind", type->get<std::string>(), type_key);
        struct Key {
            const char* name;
            const char* deck_key;
            bool is_of_parts;
        };
        for (const auto& key :
             {Key{"factor", "model.rope_scaling.factor", false},
              Key{"low_freq_factor", "model.rope_scaling.low_freq_factor", true},
              Key{"high_freq_factor", "model.rope_scaling.high_freq_factor", true},
              Key{"original_max_position_embeddings", "model.rope_scaling.original_max_seq", true}}) {
            const Json* value = find(*map, key.name);
            if (key.is_of_parts && !is_by_parts) {
                continue;
            }
            if (value == nullptr) {
                trouble(type_key, fmt::format("rope type {} without {}", told(*type), key.name),
                        fmt::format("it says what {} is", key.deck_key), "Fetch or export the model again.");
            } else if (auto text = text_of(key.name, *value)) {
                say(key.deck_key, std::move(*text), key.name);
            }
        }
    }

    PublishedConfig& config_;
    Json document_;
};

}  // namespace

PublishedConfig read_published_config(const std::string& folder) {
    namespace fs = std::filesystem;
    PublishedConfig config;
    config.file = folder + "/" + published_config_name;
    std::error_code error;
    const auto refuse = [&](std::string why,
                            std::string remedy = "Name the folder of a model in the Hugging Face format.") {
        config.troubles.push_back(
            {"cannot read the model's configuration", std::move(why), std::move(remedy)});
        return config;
    };
    if (!fs::is_regular_file(config.file, error)) {
        config.is_missing = true;
        return refuse("there is no such file");
    }
    if (const auto bytes = fs::file_size(config.file, error); error || bytes > most_bytes) {
        return refuse(error ? error.message() : fmt::format("it has {} bytes", bytes));
    }
    std::ifstream file{config.file, std::ios::binary};
    config.text.assign(std::istreambuf_iterator<char>{file}, {});
    if (const auto found = recognise_file(config.text)) {
        return refuse(fmt::format("it is {}", found->what), found->remedy);
    }
    if (is_json_deeper(config.text, deepest)) {
        return refuse("it nests too deep");
    }
    auto document = Json::parse(config.text, nullptr, false);
    if (!document.is_object()) {
        return refuse("it is no JSON object");
    }
    Reading{config, std::move(document)}.run();
    return config;
}

}  // namespace ziggurat::deck
