#include "plot/history_fields.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"

namespace ziggurat::plot {
namespace {

constexpr std::int64_t max_steps = 1'000'000'000'000;
constexpr std::size_t max_names = 1000;

}  // namespace

double number(const Json& event, const char* field) {
    const auto found = event.find(field);
    return found != event.end() && found->is_number() ? found->get<double>() : 0;
}

std::optional<double> finite(const Json& event, const char* field) {
    const auto found = event.find(field);
    if (found == event.end() || !found->is_number() || !std::isfinite(found->get<double>())) {
        return std::nullopt;
    }
    return found->get<double>();
}

std::string text(const Json& event, const char* field) {
    const auto found = event.find(field);
    return found != event.end() && found->is_string()
               ? shortened(printable(found->get<std::string>()), longest_text)
               : "";
}

std::optional<std::int64_t> step_of(const Json& event) {
    const auto found = event.find("step");
    if (found == event.end() || !found->is_number_integer()) {
        return std::nullopt;
    }
    const auto step = found->get<std::int64_t>();
    return step >= 0 && step <= max_steps ? std::optional{step} : std::nullopt;
}

std::vector<double> numbers_by_name(const Json& event, const char* field, std::vector<std::string>& names) {
    std::vector<double> numbers;
    const auto found = event.find(field);
    if (found == event.end() || !found->is_object()) {
        return numbers;
    }
    for (const auto& [key, value] : found->items()) {
        if (value.is_boolean()) {
            continue;  // a flag of the value before it
        }
        const auto name = printable(key);
        const auto at = std::ranges::find(names, name);
        const std::size_t index = at - names.begin();
        if (at == names.end() && names.size() >= max_names) {
            continue;
        }
        if (at == names.end()) {
            names.push_back(name);
        }
        numbers.resize(std::max(numbers.size(), index + 1), std::nan(""));
        numbers[index] = value.is_number() ? value.get<double>() : std::nan("");
    }
    return numbers;
}

std::optional<std::vector<SourceShare>> shares_of(const Json& event) {
    std::vector<SourceShare> shares;
    const auto found = event.find("share_by_source");
    if (found == event.end() || !found->is_object()) {
        return event.contains("loss_by_source") ? std::nullopt : std::optional{shares};
    }
    for (const auto& [key, share] : found->items()) {
        if (shares.size() < max_names) {
            shares.push_back({printable(key), share.is_number() ? share.get<double>() : 0});
        }
    }
    return shares;
}

std::optional<Rewards> rewards_of(const Json& event) {
    const auto chosen = finite(event, "reward_chosen");
    const auto rejected = finite(event, "reward_rejected");
    const auto accuracy = finite(event, "reward_accuracy");
    return chosen && rejected && accuracy ? std::optional{Rewards{*chosen, *rejected, *accuracy}}
                                          : std::nullopt;
}

}  // namespace ziggurat::plot
