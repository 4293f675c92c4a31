#include "deck/messages/arithmetic.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ziggurat::deck {

std::vector<std::int64_t> divisors(std::int64_t number, std::size_t max) {
    std::vector<std::int64_t> all;
    for (std::int64_t small = 1; small * small <= number; ++small) {
        if (number % small == 0) {
            all.push_back(small);
            if (small != number / small) {
                all.push_back(number / small);
            }
        }
    }
    std::sort(all.begin(), all.end());
    all.resize(std::min(all.size(), max));
    return all;
}

std::string list_or(const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        text += i == 0 ? "" : i + 1 == numbers.size() ? " or " : ", ";
        text += fmt::format("{}", numbers[i]);
    }
    return text;
}

std::vector<std::int64_t> nearest_multiples(std::int64_t number, std::int64_t step) {
    const std::int64_t below = number / step * step;
    if (below == 0) {
        return {step};
    }
    return below == number ? std::vector{number} : std::vector{below, below + step};
}

}  // namespace ziggurat::deck
