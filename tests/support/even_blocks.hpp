/// Even blocks of a vector, one per member of a group, for tests and benchmarks of collectives.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm/collectives.hpp"

namespace ziggurat::test {

/// Splits `elements` of `element_bytes` into `members` consecutive blocks of nearly equal size.
///
/// They differ by at most `granule` elements.
inline std::vector<comm::Block> even_blocks(std::int64_t elements,
                                            int element_bytes,
                                            int members,
                                            std::int64_t granule_elements) {
    const std::int64_t granules = (elements + granule_elements - 1) / granule_elements;
    const auto begin_of = [&](int member) {
        return std::min(elements, granules * member / members * granule_elements);
    };
    std::vector<comm::Block> blocks;
    for (int m = 0; m < members; ++m) {
        const std::int64_t begin = begin_of(m);
        blocks.push_back({begin * element_bytes, (begin_of(m + 1) - begin) * element_bytes});
    }
    return blocks;
}

}  // namespace ziggurat::test
