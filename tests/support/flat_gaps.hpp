/// Gaps of a flat layout.
#pragma once

#include <cstdint>
#include <vector>

#include "layout/flat_layout.hpp"

namespace ziggurat::test {

/// Returns the ranges without data, ascending: between parameters and after the last one of a region.
inline std::vector<layout::ElementRange> gaps_of(const layout::FlatLayout& flat) {
    std::vector<layout::ElementRange> found;
    std::int64_t end = 0;
    for (const int p : flat.ascending()) {
        const auto& range = flat.parameter(p);
        if (range.begin > end) {
            found.push_back({end, range.begin});
        }
        end = range.end;
    }
    if (flat.padded_elements() > end) {
        found.push_back({end, flat.padded_elements()});
    }
    return found;
}

}  // namespace ziggurat::test
