#include "deck/values/by_step.hpp"

#include <fmt/format.h>

#include "deck/messages/nearest.hpp"
#include "deck/values/quantities.hpp"
#include "deck/values/value_errors.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::size_t max_pairs = 1000;

/// Adds the pair to `values`; returns the reason if it is invalid, else an empty text.
std::string add_pair(const Row& row, const Node& pair, ByStep& values) {
    if (pair.kind != NodeKind::list || pair.items.size() != 2 || pair.items[0].kind != NodeKind::scalar ||
        pair.items[1].kind != NodeKind::scalar) {
        return fmt::format(
            "{} is not a pair of step and number",
            in_quotes(pair.kind == NodeKind::scalar ? pair.text : written_as(row, pair, false)));
    }
    const auto& step_text = pair.items[0].text;
    const auto& value_text = pair.items[1].text;
    const auto step = read_integer(step_text, "steps");
    if (!step || *step < 0 || *step > max_change_step) {
        return fmt::format("step {} is not a whole number from 0 to {}", in_quotes(step_text),
                           max_change_step);
    }
    if (values.empty() && *step != 0) {
        return fmt::format("the first step is {} instead of 0, so there is no value before it", *step);
    }
    if (!values.empty() && *step <= values.back().step) {
        return fmt::format("step {} does not come after step {}", *step, values.back().step);
    }
    const auto value = read_real(value_text);
    if (!value || *value < 0 || *value > row.max || (*value > 0 && *value < row.min)) {
        return fmt::format("the value {} of step {} is not 0 or a number from {} to {}",
                           in_quotes(value_text), *step, row.min, row.max);
    }
    values.push_back({.step = *step, .weight = *value});
    return {};
}

}  // namespace

std::optional<ByStep> read_by_step(const Row& row, const Node& node) {
    ByStep values;
    if (node.kind == NodeKind::scalar) {
        const auto value = read_real(node.text);
        return value ? std::optional{ByStep{{.step = 0, .weight = *value}}} : std::nullopt;
    }
    if (node.kind != NodeKind::list || node.items.empty() || node.items.size() > max_pairs) {
        return std::nullopt;
    }
    for (const Node& pair : node.items) {
        if (!add_pair(row, pair, values).empty()) {
            return std::nullopt;
        }
    }
    return values;
}

ByStepError find_by_step_error(const Row& row, const Node& list) {
    ByStep values;
    for (const Node& pair : list.items) {
        if (auto reason = add_pair(row, pair, values); !reason.empty()) {
            return {pair.at, std::move(reason)};
        }
    }
    return {list.at, list.items.empty() ? "the list is empty"
                                        : fmt::format("the list has more than {} pairs", max_pairs)};
}

}  // namespace ziggurat::deck
