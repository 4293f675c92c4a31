#include "deck/messages/grouped_problems.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/contract.hpp"
#include "base/text/printable.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::size_t max_named = 10;

/// Returns the first quoted text, including its quotes; empty if there is no quoted text.
std::string_view first_quoted(std::string_view text) {
    const auto begin = text.find('\'');
    const auto end = begin == std::string_view::npos ? begin : text.find('\'', begin + 1);
    return end == std::string_view::npos ? "" : text.substr(begin, end + 1 - begin);
}

/// Returns `text` without quoted texts, and with each number replaced by one digit.
std::string pattern_of(std::string_view text) {
    std::string pattern;
    while (!text.empty()) {
        const auto quoted = text.front() == '\'' ? first_quoted(text) : "";
        const bool is_digit = text.front() >= '0' && text.front() <= '9';
        const auto number = text.find_first_not_of("0123456789");
        pattern += !quoted.empty() ? "''" : is_digit ? "0" : std::string(1, text.front());
        text.remove_prefix(!quoted.empty() ? quoted.size() : is_digit ? std::min(number, text.size()) : 1);
    }
    return pattern;
}

bool are_identical(const Problem& one, const Problem& other) {
    return one.severity != Severity::error && one.severity == other.severity &&
           one.at.file == other.at.file && pattern_of(one.sentence()) == pattern_of(other.sentence());
}

}  // namespace

std::vector<GroupedProblems> group_problems(std::vector<Problem> problems) {
    std::vector<GroupedProblems> groups;
    for (auto& problem : problems) {
        const auto same = std::ranges::find_if(
            groups, [&](const GroupedProblems& group) { return are_identical(group.first, problem); });
        if (same == groups.end()) {
            groups.push_back({std::move(problem)});
        } else {
            same->others.push_back(std::move(problem));
        }
    }
    return groups;
}

std::string others_like_it(const GroupedProblems& similar) {
    ZG_EXPECTS(!similar.others.empty());
    std::string list;
    for (std::size_t i = 0; i < std::min(similar.others.size(), max_named); ++i) {
        const auto& problem = similar.others[i];
        const auto name = printable(first_quoted(problem.problem));
        const auto location =
            problem.at.line == 0 ? "" : fmt::format("{}:{}", problem.at.line, problem.at.column);
        list += list.empty() ? "" : ", ";
        list += name.empty() || location.empty() ? name + location : fmt::format("{} ({})", name, location);
    }
    return fmt::format("{} more like it: {}{}", similar.others.size(), list,
                       similar.others.size() > max_named ? " ..." : "");
}

}  // namespace ziggurat::deck
