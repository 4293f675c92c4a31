#include "spec/tensor_pattern.hpp"

#include <algorithm>

namespace ziggurat::spec {

bool matches(std::string_view pattern, std::string_view name) noexcept {
    // Only the last star needs backtracking: a longer match of an earlier star cannot improve the rest.
    std::size_t p = 0;
    std::size_t n = 0;
    std::size_t star = std::string_view::npos;
    std::size_t taken_until = 0;  // end of the characters matched by the last star
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            taken_until = n;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++taken_until;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool matches_any(std::span<const std::string> patterns, std::string_view name) noexcept {
    return std::any_of(patterns.begin(), patterns.end(),
                       [name](const std::string& pattern) { return matches(pattern, name); });
}

std::vector<std::string> unmatched_patterns(std::span<const std::string> patterns,
                                            std::span<const std::string> names) {
    std::vector<std::string> unmatched;
    for (const auto& pattern : patterns) {
        if (std::none_of(names.begin(), names.end(),
                         [&pattern](const std::string& name) { return matches(pattern, name); })) {
            unmatched.push_back(pattern);
        }
    }
    return unmatched;
}

bool is_trained(const Train& train, std::string_view tensor) {
    return train.only.empty() || matches_any(train.only, tensor);
}

}  // namespace ziggurat::spec
