#include "deck/files/hf_positions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

namespace ziggurat::deck {
namespace {

using Json = ConfigReading::Json;

constexpr const char* scaling_name = "rope_scaling";
constexpr const char* parameters_name = "rope_parameters";
constexpr const char* share_name = "partial_rotary_factor";
constexpr const char* first_length_name = "original_max_position_embeddings";

/// A key in a map of positions that is used only with scaling.
struct ScalingKey {
    const char* name;
    const char* deck_key;
    bool is_of_parts;
};
constexpr std::array scaling_keys{ScalingKey{"factor", "model.rope_scaling.factor", false},
                                  ScalingKey{"low_freq_factor", "model.rope_scaling.low_freq_factor", true},
                                  ScalingKey{"high_freq_factor", "model.rope_scaling.high_freq_factor", true},
                                  ScalingKey{first_length_name, "model.rope_scaling.original_max_seq", true}};

/// A map in the file, or the file itself, which has an empty name.
struct Scope {
    std::string name;
    const Json* map = nullptr;  ///< nullptr: absent, null or empty

    std::string path(const std::string& key) const { return name.empty() ? key : name + "." + key; }
};

/// A value and its location in the file.
struct Mention {
    std::string key;
    std::string path;
    const Json* value = nullptr;  ///< nullptr: the file does not have it
};

class Positions {
  public:
    Positions(ConfigReading& reading, const layout::FamilyDescriptor& family)
        : reading_{reading}, family_{family}, top_{"", &reading.document()} {}

    void run() {
        auto scaling = open(scaling_name);
        auto parameters = open(parameters_name);
        if (is_broken_) {
            return;
        }
        const bool is_older = scaling.map != nullptr;
        used_ = is_older ? scaling : parameters;
        other_ = is_older ? parameters : scaling;
        for (const auto& key : family_.published.keys) {
            if (key.in_rope_parameters != nullptr) {
                take(key);
            }
        }
        expect_whole_channels();
        take_scaling();
    }

  private:
    Scope open(const char* name) {
        const Json* map = ConfigReading::find_value(reading_.document(), name);
        if (map == nullptr || (map->is_object() && map->empty())) {
            return {name, nullptr};
        }
        if (!map->is_object()) {
            refuse(name, fmt::format("{} = {}", name, shown(*map)), "a map is expected there");
            return {name, nullptr};
        }
        for (const auto& [key, value] : map->items()) {
            if (value.is_object()) {
                refuse(key, fmt::format("{}.{} = {} is not implemented", name, key, shown(value)),
                       "all layers rotate positions in the same way here");
            }
        }
        return {name, map};
    }

    void refuse(const std::string& key, std::string problem, std::string reason) {
        is_broken_ = true;
        reading_.report_finding(key, std::move(problem), std::move(reason), "Use a model without it.");
    }

    static Mention mention(const Scope& scope, const std::string& key) {
        return {key, scope.path(key), scope.map == nullptr ? nullptr : ConfigReading::find(*scope.map, key)};
    }

    void contradict(const Mention& mention, const std::string& used, const Json& value) {
        reading_.report_finding(mention.key,
                                fmt::format("{} = {} contradicts {} = {}", mention.path,
                                            shown(*mention.value), used, shown(value)),
                                "versions of transformers differ in which of the two they read",
                                "Keep the value that the model was trained with, and remove the other.");
    }

    /// Reports each of `mentions` whose value differs from `value`, which is used.
    void expect_same(const std::vector<Mention>& mentions, const std::string& used, const Json& value) {
        for (const auto& mention : mentions) {
            if (mention.value != nullptr && !mention.value->is_null() && *mention.value != value) {
                contradict(mention, used, value);
            }
        }
    }

    /// Returns the first of `mentions` that occurs in the file.
    static const Mention* first_of(const std::vector<Mention>& mentions) {
        const auto found =
            std::ranges::find_if(mentions, [](const auto& each) { return each.value != nullptr; });
        return found == mentions.end() ? nullptr : &*found;
    }

    void take(const layout::HfKey& key) {
        const std::string inside = key.in_rope_parameters;
        const std::vector<Mention> read{mention(used_, inside), mention(top_, key.name)};
        std::vector<Mention> all = read;
        all.push_back(mention(other_, inside));
        // Some versions write these names in the other place, where they are not read.
        if (inside != key.name) {
            all.insert(all.end(),
                       {mention(top_, inside), mention(used_, key.name), mention(other_, key.name)});
        }
        if (const Mention* used = first_of(read); used != nullptr) {
            if (auto text = reading_.text_of(used->key, *used->value)) {
                reading_.record(key.deck_key, std::move(*text), used->key);
                expect_same(all, used->path, *used->value);
            }
            return;
        }
        reading_.record(key.deck_key, key.fallback, "");
        expect_same(all, fmt::format("{}, which is not given and so", key.name), Json::parse(key.fallback));
    }

    /// Checks the share of channels for families without such a key: they rotate all channels of a head.
    void expect_whole_channels() {
        const auto& keys = family_.published.keys;
        const bool has_key = std::ranges::any_of(keys, [](const auto& key) {
            return key.in_rope_parameters != nullptr &&
                   key.in_rope_parameters == std::string_view{share_name};
        });
        for (const Scope* scope : {&top_, &used_, &other_}) {
            const auto share = mention(*scope, share_name);
            if (!has_key && share.value != nullptr && !share.value->is_null() && *share.value != 1) {
                refuse(share_name, fmt::format("{} = {} is not implemented", share.path, shown(*share.value)),
                       fmt::format("{} rotates all channels of a head here", family_.name));
            }
        }
    }

    static std::vector<Mention> types_in(const Scope& scope) {
        return {mention(scope, "rope_type"), mention(scope, "type")};
    }

    void take_scaling() {
        const auto types = types_in(used_);
        const Mention* written = first_of(types);
        const bool is_printed = written != nullptr && !written->value->is_null();
        const Json type = is_printed ? *written->value : Json("default");
        const std::string type_key = is_printed ? written->key : "";
        const std::string type_path =
            is_printed ? written->path : used_.path("rope_type") + ", which is not given and so";
        expect_same(types, type_path, type);
        expect_same(types_in(other_), type_path, type);
        if (type == "default") {
            reading_.record("model.rope_scaling.kind", "none", type_key);
            expect_unscaled(is_printed);
            return;
        }
        const bool is_by_parts = type == layout::name_of(spec::RopeScalingKind::by_parts);
        if (type != layout::name_of(spec::RopeScalingKind::linear) && !is_by_parts) {
            reading_.report_finding(type_key, fmt::format("rope type {} is not implemented", shown(type)),
                                    fmt::format("positions are not scaled, or by {} or {}",
                                                layout::name_of(spec::RopeScalingKind::linear),
                                                layout::name_of(spec::RopeScalingKind::by_parts)),
                                    "Use a model with one of these.");
            return;
        }
        reading_.record("model.rope_scaling.kind", type.get<std::string>(), type_key);
        for (const auto& key : scaling_keys) {
            if (is_by_parts || !key.is_of_parts) {
                take_factor(key, type);
            }
        }
    }

    /// Reports scaling factors if positions are not scaled.
    ///
    /// With `is_printed`, rope_type is given, and factors in the used map are ignored.
    void expect_unscaled(bool is_printed) {
        for (const auto& key : scaling_keys) {
            for (const Scope* scope : {&used_, &other_}) {
                const auto factor = mention(*scope, key.name);
                const bool is_ignored = scope == &used_ && is_printed;
                if (!is_ignored && factor.value != nullptr && !factor.value->is_null()) {
                    reading_.report_finding(
                        key.name,
                        fmt::format("{} = {} without a rope_type that uses it", factor.path,
                                    shown(*factor.value)),
                        "versions of transformers ignore it",
                        "Add the rope_type that the model was trained with, or remove it.");
                }
            }
        }
    }

    void take_factor(const ScalingKey& key, const Json& type) {
        std::vector<Mention> read{mention(used_, key.name)};
        std::vector<Mention> all{read.front(), mention(other_, key.name)};
        if (key.name == std::string_view{first_length_name}) {
            read.push_back(mention(top_, longest_name()));
            all.push_back(mention(top_, key.name));
        }
        const Mention* used = first_of(read);
        if (used == nullptr) {
            reading_.report_finding(used_.name, fmt::format("rope type {} without {}", shown(type), key.name),
                                    fmt::format("it determines {}", key.deck_key),
                                    "Fetch or export the model again.");
        } else if (auto text = reading_.text_of(used->key, *used->value)) {
            reading_.record(key.deck_key, std::move(*text), used->key);
            expect_same(all, used->path, *used->value);
        }
    }

    /// Returns the key of the maximum sequence length; its value replaces a missing original length.
    std::string longest_name() const {
        const auto& keys = family_.published.keys;
        const auto found = std::ranges::find_if(
            keys, [](const auto& key) { return key.deck_key == std::string_view{"model.max_seq"}; });
        return found == keys.end() ? "" : found->name;
    }

    ConfigReading& reading_;
    const layout::FamilyDescriptor& family_;
    Scope top_;
    Scope used_;   ///< the map that transformers 5 uses
    Scope other_;  ///< the map that it ignores
    bool is_broken_ = false;
};

}  // namespace

void read_positions(ConfigReading& reading, const layout::FamilyDescriptor& family) {
    Positions{reading, family}.run();
}

}  // namespace ziggurat::deck
