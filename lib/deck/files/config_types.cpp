#include "deck/files/config_types.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

namespace ziggurat::deck {
namespace {

using Json = ConfigReading::Json;
using layout::HfType;

constexpr const char* refetch = "Fetch or export the model again.";

struct TypeName {
    HfType type;
    const char* name;
};
constexpr std::array type_names{TypeName{layout::hf_whole, "a whole number"},
                                TypeName{layout::hf_real, "a number with a decimal point"},
                                TypeName{layout::hf_boolean, "true or false"},
                                TypeName{layout::hf_text, "a text"},
                                TypeName{layout::hf_map, "a map"},
                                TypeName{layout::hf_whole_list, "a list of whole numbers"},
                                TypeName{layout::hf_text_list, "a list of texts"},
                                TypeName{layout::hf_null, "null"}};

HfType type_of(const Json& value) {
    switch (value.type()) {
        case Json::value_t::null:
            return layout::hf_null;
        case Json::value_t::boolean:
            return layout::hf_boolean;
        case Json::value_t::number_integer:
        case Json::value_t::number_unsigned:
            return layout::hf_whole;
        case Json::value_t::number_float:
            return layout::hf_real;
        case Json::value_t::string:
            return layout::hf_text;
        case Json::value_t::object:
            return layout::hf_map;
        default:
            break;
    }
    HfType lists = layout::hf_whole_list | layout::hf_text_list;
    for (const auto& entry : value) {
        const auto of_entry = type_of(entry);
        lists.kinds &= of_entry.has(layout::hf_whole)  ? layout::hf_whole_list.kinds
                       : of_entry.has(layout::hf_text) ? layout::hf_text_list.kinds
                                                       : 0;
    }
    return lists;
}

/// Returns `a whole number or null`.
std::string names_of(HfType type) {
    std::string names;
    for (const auto& each : type_names) {
        if (type.has(each.type)) {
            names += (names.empty() ? "" : " or ") + std::string{each.name};
        }
    }
    return names;
}

class Types {
  public:
    Types(ConfigReading& reading, const layout::FamilyDescriptor& family)
        : reading_{reading}, published_{family.published}, has_own_head_dim_{family.has_own_head_dim} {}

    bool run() {
        for (const auto& field : published_.fields) {
            check(field.name, field.type);
            for (const auto& key : published_.keys) {
                if (key.alias != nullptr && key.name == std::string_view{field.name}) {
                    check(key.alias, field.type);
                }
            }
        }
        if (is_valid_) {
            check_layer_types();
            check_layer_lists();
            check_heads();
            check_channels();
            check_initial_range();
            check_labels();
        }
        return is_valid_;
    }

  private:
    void check(const std::string& name, HfType type) {
        const Json* value = ConfigReading::find(reading_.document(), name);
        // A larger whole number has no other type after parsing, and no real value is as large.
        const bool is_huge = value != nullptr && value->is_number_float() && !type.has(layout::hf_whole) &&
                             !(std::abs(value->get<double>()) < 0x1p63);
        if (value != nullptr && (is_huge || !type_of(*value).has(type))) {
            refuse(name, fmt::format("{} = {}", name, shown(*value)),
                   fmt::format("{} is expected there", names_of(type)), refetch);
        }
    }

    void refuse(const std::string& name, std::string problem, std::string reason, std::string advice) {
        is_valid_ = false;
        reading_.report_finding(name, std::move(problem), std::move(reason), std::move(advice));
    }

    /// Returns the key that sets `deck_key`; its alias if only that one is present.
    std::string name_of(std::string_view deck_key) const {
        const auto found = std::ranges::find(published_.keys, deck_key, &layout::HfKey::deck_key);
        if (found == published_.keys.end()) {
            return "";
        }
        const bool is_alias = found->alias != nullptr && value(found->name) == nullptr;
        return is_alias ? found->alias : found->name;
    }

    const Json* value(const std::string& name) const {
        return ConfigReading::find_value(reading_.document(), name);
    }

    std::optional<std::int64_t> whole(const std::string& name) const {
        const Json* found = value(name);
        return found != nullptr && found->is_number_integer() ? std::optional{found->get<std::int64_t>()}
                                                              : std::nullopt;
    }

    void check_length(const std::string& name, const Json& list) {
        const auto layers = name_of("model.layers");
        const auto count = whole(layers);
        if (count && *count != static_cast<std::int64_t>(list.size())) {
            refuse(name, fmt::format("{} has {} entries, {} is {}", name, list.size(), layers, *count),
                   "the list has an entry for each layer", refetch);
        }
    }

    /// Checks `layer_types` in each family: the base of all classes reads it.
    void check_layer_types() {
        constexpr const char* name = "layer_types";
        const Json* types = value(name);
        if (types == nullptr) {
            return;
        }
        if (!type_of(*types).has(layout::hf_text_list)) {
            refuse(name, fmt::format("{} = {}", name, shown(*types)), "a list of texts is expected there",
                   refetch);
            return;
        }
        for (std::size_t layer = 0; layer < types->size(); ++layer) {
            const auto& type = (*types)[layer];
            if (type != "full_attention" && type != "sliding_attention") {
                refuse(name, fmt::format("{}[{}] = {} is not implemented", name, layer, shown(type)),
                       "a layer has full_attention or sliding_attention here", "Use a model that has it.");
                return;
            }
        }
        check_length(name, *types);
    }

    void check_layer_lists() {
        for (const auto& list : published_.layer_lists) {
            if (const Json* entries = value(list.name); entries != nullptr) {
                check_length(list.name, *entries);
            }
        }
    }

    void check_heads() {
        const auto heads = name_of("model.heads");
        const auto width = name_of("model.hidden");
        const auto count = whole(heads);
        const auto hidden = whole(width);
        if (published_.has_whole_heads_only && count && hidden && *count > 0 && *hidden % *count != 0) {
            refuse(heads, fmt::format("{} = {} does not divide {} = {}", heads, *count, width, *hidden),
                   fmt::format("{} of transformers needs whole heads", published_.architecture), refetch);
        }
    }

    void check_initial_range() {
        constexpr const char* name = "initializer_range";
        const Json* range = value(name);
        if (range != nullptr && (*range < 0 || *range > 1)) {
            refuse(name, fmt::format("{} = {}", name, shown(*range)),
                   "a number from 0 to 1 is expected there", refetch);
        }
    }

    /// Checks the names of classes, which all configurations may have: their keys are whole numbers.
    void check_labels() {
        constexpr const char* name = "id2label";
        const Json* labels = value(name);
        if (labels == nullptr) {
            return;
        }
        bool is_valid = labels->is_object();
        for (const auto& [key, label] : labels->items()) {
            const auto digits = key.substr(key.starts_with('-') ? 1 : 0);
            is_valid =
                is_valid && !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
        }
        if (!is_valid) {
            refuse(name, fmt::format("{} = {}", name, shown(*labels)),
                   "a map with whole numbers as keys is expected there", refetch);
        }
    }

    /// Checks that all heads together are as wide as the model.
    void check_channels() {
        const auto width = name_of("model.hidden");
        const auto heads = name_of("model.heads");
        const Json* channels = value("head_dim");
        if (has_own_head_dim_ || channels == nullptr) {
            return;
        }
        const auto given = whole("head_dim");
        const auto count = whole(heads);
        const auto hidden = whole(width);
        if (!given) {
            refuse("head_dim", fmt::format("head_dim = {}", shown(*channels)),
                   "a whole number is expected there", refetch);
        } else if (count && hidden && (*count <= 0 || *hidden / *count != *given)) {
            refuse("head_dim", fmt::format("head_dim = {} is not implemented", *given),
                   fmt::format("a head has {} / {} channels here", width, heads), "Use a model that has it.");
        }
    }

    ConfigReading& reading_;
    const layout::Published& published_;
    bool has_own_head_dim_;
    bool is_valid_ = true;
};

}  // namespace

bool check_types(ConfigReading& reading, const layout::FamilyDescriptor& family) {
    return Types{reading, family}.run();
}

}  // namespace ziggurat::deck
