#include "deck/files/position_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ziggurat::deck {

Mention mention(const PositionScope& scope, const std::string& key) {
    return {key, scope.path(key), scope.map == nullptr ? nullptr : ConfigReading::find(*scope.map, key)};
}

const Mention* first_of(const std::vector<Mention>& mentions) {
    const auto found = std::ranges::find_if(mentions, [](const auto& each) { return each.value != nullptr; });
    return found == mentions.end() ? nullptr : &*found;
}

PositionMaps::PositionMaps(ConfigReading& reading, bool has_windows)
    : reading_{reading}, has_windows_{has_windows}, top_{"", &reading.document()} {
    used_ = open("rope_scaling");
    other_ = open("rope_parameters");
    if (used_.map == nullptr) {
        std::swap(used_, other_);
    }
}

PositionScope PositionMaps::open(const char* name) {
    const Json* map = ConfigReading::find_value(reading_.document(), name);
    if (map == nullptr || (map->is_object() && map->empty())) {
        return {name, nullptr};
    }
    if (!map->is_object()) {
        refuse(name, fmt::format("{} = {}", name, shown(*map)), "a map is expected there");
        return {name, nullptr};
    }
    constexpr const char* full = "full_attention";
    constexpr const char* window = "sliding_attention";
    const Json* of_full = ConfigReading::find_value(*map, full);
    const Json* of_windows = ConfigReading::find_value(*map, window);
    if (has_windows_ && map->size() == 2 && of_full != nullptr && of_full->is_object() &&
        of_windows != nullptr && of_windows->is_object()) {
        const std::string path = name;
        windows_ = {path + "." + window, of_windows};
        return {path + "." + full, of_full};
    }
    const bool is_newer = name == std::string_view{"rope_parameters"};
    for (const auto& [key, value] : map->items()) {
        if (has_windows_ && is_newer && key != full && key != window && !value.is_null()) {
            refuse(fmt::format("{}.{}", name, key),
                   fmt::format("{}.{} = {} is not used", name, key, shown(value)),
                   fmt::format("the class reads only {}.{} and {}.{}", name, full, name, window));
        } else if (value.is_object()) {
            refuse(fmt::format("{}.{}", name, key),
                   fmt::format("{}.{} = {} is not implemented", name, key, shown(value)),
                   "the family has one rotation for all layers");
        }
    }
    return {name, map};
}

void PositionMaps::refuse(const std::string& key, std::string problem, std::string reason) {
    is_broken_ = true;
    reading_.report_finding(key, std::move(problem), std::move(reason), "Use a model without it.");
}

void PositionMaps::contradict(const Mention& mention, const std::string& used, const Json& value) {
    reading_.report_finding(
        mention.path,
        fmt::format("{} = {} contradicts {} = {}", mention.path, shown(*mention.value), used, shown(value)),
        "versions of transformers differ in which of the two they read",
        "Keep the value that the model was trained with, and remove the other.");
}

void PositionMaps::expect_same(const std::vector<Mention>& mentions,
                               const std::string& used,
                               const Json& value) {
    for (const auto& mention : mentions) {
        if (mention.is_given() && *mention.value != value) {
            contradict(mention, used, value);
        }
    }
}

}  // namespace ziggurat::deck
