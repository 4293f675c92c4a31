#include "deck/messages/nearest.hpp"

#include <algorithm>

namespace ziggurat::deck {
namespace {

constexpr std::size_t longest_word = 64;

}  // namespace

std::string in_small_letters(std::string_view text) {
    std::string small{text};
    std::transform(small.begin(), small.end(), small.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return small;
}

int edit_distance(std::string_view a, std::string_view b) {
    std::vector<int> before_last(b.size() + 1);
    std::vector<int> last(b.size() + 1);
    std::vector<int> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = static_cast<int>(j);
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::swap(before_last, last);
        std::swap(last, row);
        row[0] = static_cast<int>(i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const int replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = std::min(row[j], before_last[j - 2] + 1);
            }
        }
    }
    return row[b.size()];
}

std::string nearest(std::string_view keyword, const std::vector<std::string_view>& candidates) {
    if (keyword.empty() || keyword.size() > longest_word) {
        return {};
    }
    std::string best;
    const int furthest = static_cast<int>(std::max<std::size_t>(1, keyword.size() / 3));
    int best_distance = furthest + 1;
    for (const std::string_view candidate : candidates) {
        // A longer form (zero_stage for zero) counts at most as much as the worst accepted misspelling.
        const bool is_longer_form = candidate.size() > 2 && keyword.size() > 2 &&
                                    (keyword.starts_with(candidate) || candidate.starts_with(keyword));
        const int slips = edit_distance(in_small_letters(keyword), in_small_letters(candidate));
        const int distance = is_longer_form ? std::min(slips, furthest) : slips;
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

}  // namespace ziggurat::deck
