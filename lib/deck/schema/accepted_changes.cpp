#include "deck/schema/accepted_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace ziggurat::deck {
namespace {

constexpr std::array acceptable = {"model.norm_epsilon", "model.rope_theta", "model.rotary_fraction",
                                   "model.rope_scaling"};

/// Returns true if `key` is `map` or one of its keys.
bool is_in(std::string_view key, std::string_view map) {
    return key.starts_with(map) && (key.size() == map.size() || key[map.size()] == '.');
}

}  // namespace

std::string accepted_key(std::string_view entry) {
    constexpr std::string_view section = "model.";
    return (entry.starts_with(section) ? "" : std::string{section}) + std::string{entry};
}

bool is_acceptable(std::string_view key) {
    return std::ranges::any_of(acceptable, [&](const char* map) { return is_in(key, map); });
}

std::string accepted_by(const std::vector<std::string>& entries, std::string_view key) {
    const auto found = std::ranges::find_if(
        entries, [&](const std::string& entry) { return is_in(key, accepted_key(entry)); });
    return found == entries.end() || !is_acceptable(key) ? "" : *found;
}

std::string acceptable_keys() {
    return fmt::format("{}", fmt::join(acceptable, ", "));
}

}  // namespace ziggurat::deck
