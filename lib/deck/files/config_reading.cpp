#include "deck/files/config_reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text/printable.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::size_t max_shown_bytes = 80;
constexpr std::size_t max_list = 1000;

}  // namespace

std::string shown(const nlohmann::json& value) {
    auto text = printable(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return text.size() > max_shown_bytes ? text.substr(0, max_shown_bytes) + "..." : text;
}

const ConfigReading::Json* ConfigReading::find(const Json& map, const std::string& key) {
    const auto at = map.is_object() ? map.find(key) : map.end();
    return at == map.end() ? nullptr : &*at;
}

const ConfigReading::Json* ConfigReading::find_value(const Json& map, const std::string& key) {
    const Json* value = find(map, key);
    return value == nullptr || value->is_null() ? nullptr : value;
}

void ConfigReading::record(const std::string& deck_key, std::string text, const std::string& key) {
    const auto at = location_of(key);
    config_.values.push_back({deck_key, std::move(text), prefix_ + key, at.line, at.column});
}

void ConfigReading::enter(const std::string& name) {
    Json part = document_.at(name);
    document_ = std::move(part);
    prefix_ += name + ".";
}

void ConfigReading::report_finding(const std::string& key,
                                   std::string problem,
                                   std::string reason,
                                   std::string advice) {
    const auto at = location_of(key);
    if (const auto leaf = key.substr(key.rfind('.') + 1);
        (problem + reason).find(leaf) == std::string::npos) {
        reason += fmt::format("; the key is {}", key);
    }
    config_.reasons.push_back({std::move(problem), std::move(reason), std::move(advice), at.line, at.column});
}

std::optional<std::string> ConfigReading::text_of(const std::string& key, const Json& value) {
    if (value.is_boolean()) {
        return value.get<bool>() ? "true" : "false";
    }
    if (value.is_number()) {
        return value.dump();
    }
    report_finding(key, fmt::format("{} = {}", key, shown(value)), "a number is expected there",
                   "Fetch or export the model again.");
    return std::nullopt;
}

std::optional<std::string> ConfigReading::list_text_of(const std::string& key, const Json& value) {
    const bool is_list = value.is_array() && value.size() <= max_list &&
                         std::ranges::all_of(value, [](const Json& item) { return item.is_number(); });
    if (!is_list) {
        report_finding(key, fmt::format("{} = {}", key, shown(value)),
                       fmt::format("a list of up to {} numbers is expected there", max_list),
                       "Fetch or export the model again.");
        return std::nullopt;
    }
    std::string text;
    for (const auto& item : value) {
        text += (text.empty() ? "" : ", ") + item.dump();
    }
    return "[" + text + "]";
}

TextLocation ConfigReading::location_of(const std::string& key) const {
    const auto found = keys_.find(prefix_ + key);
    return found == keys_.end() ? TextLocation{} : found->second;
}

}  // namespace ziggurat::deck
