#include "deck/files/hf_scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "layout/families/rope_scalings.hpp"
#include "layout/rotary_frequencies.hpp"

namespace ziggurat::deck {
namespace {

using Json = ConfigReading::Json;
using Kind = spec::RopeScalingKind;

constexpr const char* original_name = "original_max_position_embeddings";
constexpr const char* attention_name = "attention_factor";
constexpr const char* absent = ", which is not given and so";

/// A key of a map of positions that is used only with scaling.
struct ScalingKey {
    const char* name;
    const char* deck_key;            ///< below model.rope_scaling
    const char* fallback = nullptr;  ///< value if the map does not have it; nullptr: it is required
};
constexpr std::array scaling_keys{
    ScalingKey{"factor", "factor"},
    ScalingKey{"low_freq_factor", "low_freq_factor"},
    ScalingKey{"high_freq_factor", "high_freq_factor"},
    ScalingKey{original_name, "original_max_seq"},
    ScalingKey{"beta_fast", "beta_fast", "32"},
    ScalingKey{"beta_slow", "beta_slow", "1"},
    ScalingKey{"truncate", "truncate", "true"},
    ScalingKey{attention_name, "attention_factor"},
    ScalingKey{"short_factor", "short_factors"},
    ScalingKey{"long_factor", "long_factors"},
};

class Scaling {
  public:
    Scaling(ConfigReading& reading, PositionMaps& maps, const layout::FamilyDescriptor& family)
        : reading_{reading}, maps_{maps}, family_{family} {}

    void run() {
        const auto types = types_in(maps_.used());
        const Mention* written = first_of(types);
        if (written != nullptr && !written->value->is_string()) {
            maps_.refuse(written->path, fmt::format("{} = {}", written->path, shown(*written->value)),
                         "the name of a type is expected there");
            return;
        }
        type_ = written != nullptr ? *written->value : Json("default");
        const auto type_key = written != nullptr ? written->path : maps_.used().path("rope_type");
        const auto used = written != nullptr ? type_key : type_key + absent;
        expect_same_type(types, used);
        expect_same_type(types_in(maps_.other()), used);
        const auto kind = kind_of(type_);
        if (kind == Kind::none) {
            reading_.record("model.rope_scaling.kind", layout::name_of(Kind::none), type_key);
            expect_unscaled(written != nullptr);
        } else if (kind && family_.scales_by(*kind)) {
            scaling_.kind = *kind;
            reading_.record("model.rope_scaling.kind", layout::name_of(*kind), type_key);
            take_values();
            expect_all_used();
        } else {
            reading_.report_finding(type_key, fmt::format("rope type {} is not implemented", shown(type_)),
                                    fmt::format("positions are not scaled, or by {}", kinds()),
                                    "Use a model with one of these.");
        }
    }

  private:
    static std::vector<Mention> types_in(const PositionScope& scope) {
        return {mention(scope, "rope_type"), mention(scope, "type")};
    }

    /// Returns the kind of a type; nullopt for a type that is not implemented.
    std::optional<Kind> kind_of(const Json& type) const {
        if (!type.is_string()) {
            return std::nullopt;
        }
        const auto name = type.get<std::string>();
        if (name == "default") {
            return Kind::none;
        }
        if (std::ranges::any_of(family_.published.older_longrope,
                                [&](const char* older) { return name == older; })) {
            return Kind::longrope;
        }
        const auto kind = layout::find_rope_scaling(name);
        return kind == Kind::none ? std::nullopt : kind;
    }

    /// Reports each type that differs from the used one by more than its age.
    void expect_same_type(const std::vector<Mention>& types, const std::string& used) {
        for (const auto& other : types) {
            if (other.is_given() && *other.value != type_ &&
                (!kind_of(type_) || kind_of(*other.value) != kind_of(type_))) {
                maps_.contradict(other, used, type_);
            }
        }
    }

    /// Returns the kinds of the family: `linear, yarn or dynamic`.
    std::string kinds() const {
        std::vector<const char*> names;
        for (const auto kind : layout::rope_scaling_kinds) {
            if (kind != Kind::none && family_.scales_by(kind)) {
                names.push_back(layout::name_of(kind));
            }
        }
        std::string text;
        for (std::size_t i = 0; i < names.size(); ++i) {
            text += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
            text += names[i];
        }
        return text;
    }

    bool uses(const ScalingKey& key) const { return layout::uses_key(scaling_.kind, key.deck_key); }

    void take_values() {
        for (const auto& key : scaling_keys) {
            const std::string_view name = key.name;
            if (!uses(key) || name == attention_name || name == "factor") {
                continue;
            }
            if (name == original_name) {
                take_original_length(key);
            } else if (key.fallback != nullptr) {
                take_or(key, Json::parse(key.fallback));
            } else {
                take_required(key, {mention(maps_.used(), key.name)}, {});
            }
        }
        // The others may follow from these.
        if (scaling_.kind == Kind::longrope) {
            take_or(scaling_keys.front(), length_ratio());
        } else {
            take_required(scaling_keys.front(), {mention(maps_.used(), "factor")}, {});
        }
        const auto attention = std::ranges::find(scaling_keys, attention_name, name_of_key);
        if (uses(*attention)) {
            take_or(*attention, usual_attention_factor());
        }
    }

    static std::string_view name_of_key(const ScalingKey& key) { return key.name; }

    /// Records the first of `read`. `others` must have the same value, or none.
    void take_required(const ScalingKey& key, std::vector<Mention> read, std::vector<Mention> others) {
        others.insert(others.end(), read.front());
        others.push_back(mention(maps_.other(), key.name));
        const Mention* used = first_of(read);
        if (used == nullptr) {
            reading_.report_finding(maps_.used().name,
                                    fmt::format("rope type {} without {}", shown(type_), key.name),
                                    fmt::format("it determines model.rope_scaling.{}", key.deck_key),
                                    "Fetch or export the model again.");
        } else if (record(key, used->path, *used->value)) {
            maps_.expect_same(others, used->path, *used->value);
        }
    }

    /// Records the value of the used map or, without one, `otherwise`.
    void take_or(const ScalingKey& key, const Json& otherwise) {
        const auto used = mention(maps_.used(), key.name);
        if (used.is_given()) {
            take_required(key, {used}, {});
        } else if (record(key, used.path, otherwise)) {
            maps_.expect_same({mention(maps_.other(), key.name)}, used.path + absent, otherwise);
        }
    }

    void take_original_length(const ScalingKey& key) {
        const auto inside = mention(maps_.used(), key.name);
        const auto outside = mention(maps_.top(), key.name);
        const char* const usual = family_.published.original_max_seq;
        if (usual == nullptr) {
            take_required(key, {inside, mention(maps_.top(), longest_name())}, {outside});
        } else if (outside.is_given()) {
            take_required(key, {outside}, {inside});
        } else if (const auto value = Json::parse(usual); record(key, outside.path, value)) {
            maps_.expect_same({inside, mention(maps_.other(), key.name)}, outside.path + absent, value);
        }
    }

    /// Returns true if the value has the form that the key has; else an error is reported.
    bool record(const ScalingKey& key, const std::string& name, const Json& value) {
        const bool is_list = std::string_view{key.deck_key}.ends_with("_factors");
        auto text = is_list ? reading_.list_text_of(name, value) : reading_.text_of(name, value);
        if (!text) {
            return false;
        }
        reading_.record(fmt::format("model.rope_scaling.{}", key.deck_key), std::move(*text), name);
        if (key.name == std::string_view{"factor"} && value.is_number()) {
            scaling_.factor = value.get<double>();
        } else if (key.name == std::string_view{original_name} && value.is_number_integer()) {
            scaling_.original_max_seq = value.get<std::int64_t>();
        }
        return true;
    }

    /// Returns the ratio of the maximum sequence length to the original one, at least 1.
    double length_ratio() const {
        const auto longest = mention(maps_.top(), longest_name());
        const double tokens =
            longest.is_given() && longest.value->is_number() ? longest.value->get<double>() : 1;
        const auto original = std::max<std::int64_t>(1, scaling_.original_max_seq);
        return std::max(1.0, tokens / static_cast<double>(original));
    }

    /// Returns the values of the two keys that together stand for attention_factor; {0, 0} if they do not.
    std::pair<double, double> mscales() const {
        const auto value_of = [&](const char* name) {
            const auto found = mention(maps_.used(), name);
            return found.is_given() && found.value->is_number() ? found.value->get<double>() : 0;
        };
        const std::pair both{value_of("mscale"), value_of("mscale_all_dim")};
        const bool is_used = scaling_.kind == Kind::yarn && both.first != 0 && both.second != 0 &&
                             !mention(maps_.used(), attention_name).is_given();
        return is_used ? both : std::pair{0.0, 0.0};
    }

    double usual_attention_factor() const {
        const auto [scale, of_all] = mscales();
        return scale == 0 ? layout::usual_attention_factor(scaling_)
                          : layout::attention_growth(scaling_.factor, scale) /
                                layout::attention_growth(scaling_.factor, of_all);
    }

    /// Reports scaling factors if positions are not scaled.
    ///
    /// With `is_printed`, rope_type is given, and factors in the used map are ignored.
    void expect_unscaled(bool is_printed) {
        for (const auto& key : scaling_keys) {
            for (const PositionScope* scope : {&maps_.used(), &maps_.other()}) {
                const auto factor = mention(*scope, key.name);
                const bool is_ignored = scope == &maps_.used() && is_printed;
                if (!is_ignored && factor.is_given()) {
                    reading_.report_finding(
                        factor.path,
                        fmt::format("{} = {} without a rope_type that uses it", factor.path,
                                    shown(*factor.value)),
                        "versions of transformers ignore it",
                        "Add the rope_type that the model was trained with, or remove it.");
                }
            }
        }
    }

    /// Reports keys of the used map that the type does not use.
    void expect_all_used() {
        for (const auto& [key, value] : maps_.used().map->items()) {
            if (!value.is_null() && !is_used(key, value)) {
                reading_.report_finding(
                    maps_.used().path(key),
                    fmt::format("{} = {} is not used", maps_.used().path(key), shown(value)),
                    fmt::format("rope type {} does not have it", shown(type_)),
                    "Remove it if the model was trained without it.");
            }
        }
    }

    bool is_used(const std::string& key, const Json& value) const {
        const auto is_scaling = [&](const ScalingKey& each) { return key == each.name && uses(each); };
        const auto is_position = [&](const layout::HfKey& each) {
            return each.in_rope_parameters != nullptr && (key == each.in_rope_parameters || key == each.name);
        };
        const bool is_mscale = key == "mscale" || key == "mscale_all_dim";
        return key == "rope_type" || key == "type" || key == "partial_rotary_factor" ||
               (is_mscale && (value == 0 || mscales().first != 0)) ||
               std::ranges::any_of(scaling_keys, is_scaling) ||
               std::ranges::any_of(family_.published.keys, is_position);
    }

    /// Returns the key of the maximum sequence length; its value replaces a missing original length.
    std::string longest_name() const {
        const auto& keys = family_.published.keys;
        const auto found = std::ranges::find_if(
            keys, [](const auto& key) { return key.deck_key == std::string_view{"model.max_seq"}; });
        return found == keys.end() ? "" : found->name;
    }

    ConfigReading& reading_;
    PositionMaps& maps_;
    const layout::FamilyDescriptor& family_;
    Json type_;
    spec::RopeScaling scaling_;  ///< what other values are computed from
};

}  // namespace

void read_scaling(ConfigReading& reading, PositionMaps& maps, const layout::FamilyDescriptor& family) {
    Scaling{reading, maps, family}.run();
}

}  // namespace ziggurat::deck
