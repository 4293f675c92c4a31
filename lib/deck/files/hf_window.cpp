#include "deck/files/hf_window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::deck {
namespace {

using Json = ConfigReading::Json;

constexpr const char* interval_key = "model.full_attention_interval";
constexpr const char* types_name = "layer_types";

class Windows {
  public:
    Windows(ConfigReading& reading, const layout::FamilyDescriptor& family)
        : reading_{reading}, published_{family.published}, has_window_{family.has_window} {}

    void run() {
        const Json* types = value(types_name);
        if (!has_window_) {
            if (types != nullptr && !are_all(*types, "full_attention")) {
                refuse(types_name, *types, "the family has full attention in all layers");
            }
            return;
        }
        const auto window = read_size();
        if (types != nullptr && published_.has_layer_types) {
            take_types(*types, window);
        } else if (types != nullptr &&
                   !are_all(*types, window.text == "none" ? "full_attention" : "sliding_attention")) {
            refuse(types_name, *types, "sliding_window holds for all layers here");
        } else if (published_.full_layers != nullptr && window.text != "none") {
            take_first_layers(window);
        } else if (published_.usual_window_pattern > 0 && window.text != "none") {
            take_pattern(window);
        } else {
            record(window, "none", types_name);
        }
    }

  private:
    /// A value in deck syntax, and the key of the file that gives it by its value or its absence.
    struct Size {
        std::string text = "none";
        std::string key;
    };

    const Json* value(const char* name) const { return ConfigReading::find_value(reading_.document(), name); }

    /// True if `types` is a list of this type only.
    static bool are_all(const Json& types, std::string_view name) {
        return types.is_array() && std::ranges::all_of(types, [&](const Json& type) { return type == name; });
    }

    void refuse(const char* name, const Json& is, std::string reason) {
        reading_.report_finding(name, fmt::format("{} = {} is not implemented", name, shown(is)),
                                std::move(reason), "Use a model that has it.");
    }

    void record(const Size& window, std::string interval, const char* interval_name) {
        reading_.record("model.window", window.text, window.key);
        reading_.record(interval_key, std::move(interval), interval_name);
    }

    /// Returns the number of tokens in the window, before layers are considered.
    Size read_size() {
        const auto& keys = published_.keys;
        const auto key = std::ranges::find_if(
            keys, [](const auto& each) { return each.deck_key == std::string_view{"model.window"}; });
        ZG_EXPECTS(key != keys.end());
        if (const char* const by = published_.window_switch; by != nullptr) {
            const Json* is_on = value(by);
            if (is_on == nullptr || *is_on == false) {
                return {"none", by};
            }
            if (*is_on != true) {
                refuse(by, *is_on, "it is true or false here");
            }
        }
        const Json* size = ConfigReading::find(reading_.document(), key->name);
        if (size == nullptr) {
            return {key->fallback, key->name};
        }
        if (size->is_null()) {
            if (published_.usual_window_pattern > 0) {
                refuse(key->name, *size, "all layers have a mask of a window in the class of transformers");
            }
            return {"none", key->name};
        }
        return {reading_.text_of(key->name, *size).value_or("none"), key->name};
    }

    void take_types(const Json& types, const Size& window) {
        if (are_all(types, "full_attention")) {
            record({"none", types_name}, "none", types_name);
            return;
        }
        const auto interval = interval_of(types);
        if (!interval || window.text == "none") {
            refuse(types_name, types,
                   window.text == "none"
                       ? "the file has no window for sliding_attention"
                       : "all layers have sliding_attention here, or all except every n-th");
            return;
        }
        record(window, *interval > 0 ? std::to_string(*interval) : "none", types_name);
    }

    /// Returns n if the layers n, 2n, 3n ... have full attention and the others a window; 0: all have a
    /// window.
    static std::optional<std::size_t> interval_of(const Json& types) {
        if (!types.is_array()) {
            return std::nullopt;
        }
        std::size_t interval = 0;
        for (std::size_t layer = 1; layer <= types.size(); ++layer) {
            const auto& type = types[layer - 1];
            const bool is_full = type == "full_attention";
            interval = interval == 0 && is_full ? layer : interval;
            const bool is_expected = interval > 0 && layer % interval == 0;
            if (is_full != is_expected || (!is_full && type != "sliding_attention")) {
                return std::nullopt;
            }
        }
        return interval;
    }

    /// Takes a number of first layers without a window.
    void take_first_layers(const Size& window) {
        const char* const name = published_.full_layers;
        const Json* stated = value(name);
        const Json* layers = value("num_hidden_layers");
        const Json first = stated == nullptr ? Json(published_.usual_full_layers) : *stated;
        if (!first.is_number_integer() || layers == nullptr || !layers->is_number_integer()) {
            refuse(name, first, "a number of layers is expected there");
        } else if (first.get<std::int64_t>() >= layers->get<std::int64_t>()) {
            record({"none", name}, "none", name);
        } else if (first.get<std::int64_t>() <= 0) {
            record(window, "none", name);
        } else {
            refuse(name, first, "all layers have the window here, or none has it");
        }
    }

    /// Takes n: layers n, 2n, 3n ... have no window.
    void take_pattern(const Size& window) {
        const char* const name = published_.window_pattern;
        const Json* stated = name == nullptr ? nullptr : ConfigReading::find(reading_.document(), name);
        const Json n = stated == nullptr ? Json(published_.usual_window_pattern) : *stated;
        if (!n.is_number_integer() || n < 1) {
            refuse(name, n, "a positive number of layers is expected there");
        } else if (n == 1) {
            record({"none", name}, "none", name);
        } else {
            record(window, std::to_string(n.get<std::int64_t>()), name == nullptr ? types_name : name);
        }
    }

    ConfigReading& reading_;
    const layout::Published& published_;
    bool has_window_;
};

}  // namespace

void read_window(ConfigReading& reading, const layout::FamilyDescriptor& family) {
    Windows{reading, family}.run();
}

}  // namespace ziggurat::deck
