#include "train/report/metrics_line.hpp"

#include <nlohmann/json.hpp>

#include "base/text/json_depth.hpp"
#include "base/text/json_number.hpp"

namespace ziggurat::train {
namespace {

using Json = nlohmann::json;

constexpr int deepest_line = 8;

std::string text_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

}  // namespace

std::optional<MetricsLine> parse_metrics_line(const std::string& line) {
    if (is_json_deeper(line, deepest_line)) {
        return std::nullopt;
    }
    const auto object = Json::parse(line, nullptr, false);
    if (!object.is_object()) {
        return std::nullopt;
    }
    MetricsLine facts{.event = text_in(object, "event"), .signal = text_in(object, "signal")};
    if (const auto step = object.find("step"); step != object.end()) {
        if (!step->is_number_integer() || step->get<std::int64_t>() < 0) {
            return std::nullopt;
        }
        facts.step = step->get<std::int64_t>();
    }
    if (const auto time = object.find("time"); time != object.end() && time->is_number()) {
        facts.time = time->get<double>();
    }
    if (const auto kills = object.find("oom_kills"); kills != object.end() && kills->is_number_integer()) {
        facts.oom_kills = kills->get<std::int64_t>();
    }
    return facts;
}

std::string text_of(const EndLine& end) {
    JsonLine line;
    line.begin();
    line.field("event", end.event);
    line.field("time", end.time);
    line.field("step", end.step);
    if (end.tokens > 0) {
        line.field("tokens", end.tokens);
    }
    if (end.exit_code) {
        line.field("exit_code", *end.exit_code);
    }
    line.field("reason", end.reason);
    return std::string{line.end()};
}

}  // namespace ziggurat::train
