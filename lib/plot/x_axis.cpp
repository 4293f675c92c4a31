#include "plot/x_axis.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace ziggurat::plot {
namespace {

struct Suffix {
    std::string_view name;
    double size;
};
constexpr std::array<Suffix, 5> count_suffixes{{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}};
constexpr std::array<Suffix, 5> time_suffixes{{{"", 1}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}}};

struct TimeUnit {
    double size;
    const char* label;
};
constexpr std::array<TimeUnit, 4> time_units{{{86400, "days in training"},
                                              {3600, "hours in training"},
                                              {60, "minutes in training"},
                                              {1, "seconds in training"}}};
constexpr double min_units = 3;  ///< minimum length of the longest axis, in the chosen time unit

}  // namespace

XUnit x_unit_named(std::string_view name) {
    return name == "tokens" ? XUnit::tokens : name == "time" ? XUnit::time : XUnit::steps;
}

double x_of(const Step& step, XUnit unit) {
    switch (unit) {
        case XUnit::steps:
            return static_cast<double>(step.step);
        case XUnit::tokens:
            return static_cast<double>(step.tokens);
        case XUnit::time:
            return step.elapsed_s;
    }
    return 0;
}

double x_at(const History& history, std::int64_t step, XUnit unit) {
    const auto& steps = history.steps;
    if (unit == XUnit::steps || steps.empty()) {
        return unit == XUnit::steps ? static_cast<double>(step) : 0;
    }
    const auto after = std::ranges::lower_bound(steps, step, {}, &Step::step);
    if (after == steps.end()) {
        return x_of(steps.back(), unit);
    }
    if (after->step == step) {
        return x_of(*after, unit);
    }
    if (after == steps.begin()) {
        return step == 0 ? 0 : x_of(*after, unit);
    }
    const auto& before = *(after - 1);
    const double share =
        static_cast<double>(step - before.step) / static_cast<double>(after->step - before.step);
    return x_of(before, unit) + share * (x_of(*after, unit) - x_of(before, unit));
}

std::optional<double> parse_x(std::string_view text, XUnit unit) {
    double value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || !(value >= 0) || value > 1e18) {
        return std::nullopt;
    }
    const auto& suffixes = unit == XUnit::time ? time_suffixes : count_suffixes;
    const std::string_view rest{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    const auto* suffix = std::ranges::find(suffixes, rest, &Suffix::name);
    return suffix == suffixes.end() ? std::nullopt : std::optional{value * suffix->size};
}

History part_of(const History& history, const XRange& range) {
    History part = history;
    if (range.is_whole()) {
        return part;
    }
    const auto is_outside = [&](const auto& row) { return !range.has(x_at(history, row.step, range.unit)); };
    std::erase_if(part.steps, [&](const Step& step) { return !range.has(x_of(step, range.unit)); });
    std::erase_if(part.validations, is_outside);
    std::erase_if(part.unit_norms, is_outside);
    std::erase_if(part.saves, is_outside);
    std::erase_if(part.marks, is_outside);
    return part;
}

XScale make_x_scale(const std::vector<History>& histories, XUnit unit) {
    switch (unit) {
        case XUnit::steps:
            return {unit, 1, "step"};
        case XUnit::tokens:
            return {unit, 1, "tokens"};
        case XUnit::time:
            break;
    }
    double longest = 0;
    for (const auto& history : histories) {
        longest = std::max(longest, history.steps.empty() ? 0 : history.steps.back().elapsed_s);
    }
    const auto* chosen = std::ranges::find_if(
        time_units, [&](const TimeUnit& candidate) { return longest >= min_units * candidate.size; });
    const auto& used = chosen == time_units.end() ? time_units.back() : *chosen;
    return {unit, used.size, used.label};
}

}  // namespace ziggurat::plot
