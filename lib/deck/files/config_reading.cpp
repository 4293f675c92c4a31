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
    config_.values.push_back({deck_key, std::move(text), key, key.empty() ? 0 : line_of(key)});
}

void ConfigReading::report_finding(const std::string& key,
                                   std::string problem,
                                   std::string reason,
                                   std::string advice) {
    config_.reasons.push_back({std::move(problem), std::move(reason), std::move(advice), line_of(key)});
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

int ConfigReading::line_of(const std::string& key) const {
    const auto at = config_.text.find('"' + key + '"');
    return at == std::string::npos
               ? 0
               : 1 + static_cast<int>(std::count(
                         config_.text.begin(), config_.text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

}  // namespace ziggurat::deck
