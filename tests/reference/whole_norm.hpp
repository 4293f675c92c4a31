/// Norm of all queries of a token together, and of all its keys, in double precision.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/reference/head_norm.hpp"

namespace ziggurat::reference {

/// Calls body(begin, end, index of the first gain) for the queries and for the keys of each row.
template <class Body>
void for_normalized_parts(std::size_t elements, const Heads& heads, const Body& body) {
    const auto queries = heads.queries * heads.channels, keys = heads.keys * heads.channels;
    for (std::size_t row = 0; row < elements; row += heads.width()) {
        body(row, row + queries, std::size_t{0});
        body(row + queries, row + queries + keys, queries);
    }
}

/// \param gain  of each channel of the queries, then of the keys
inline std::vector<double> whole_norm(const std::vector<double>& x,
                                      const std::vector<double>& gain,
                                      const Heads& heads,
                                      double epsilon) {
    auto y = x;
    for_normalized_parts(x.size(), heads, [&](std::size_t begin, std::size_t end, std::size_t first) {
        const auto own = gain.begin() + first;
        std::ranges::copy(rms_norm({x.begin() + begin, x.begin() + end}, {own, own + (end - begin)}, epsilon),
                          y.begin() + begin);
    });
    return y;
}

inline RmsNormGradients whole_norm_backward(const std::vector<double>& x,
                                            const std::vector<double>& dy,
                                            const std::vector<double>& gain,
                                            const Heads& heads,
                                            double epsilon) {
    RmsNormGradients d{dy, std::vector<double>(gain.size())};
    for_normalized_parts(x.size(), heads, [&](std::size_t begin, std::size_t end, std::size_t first) {
        const auto own = gain.begin() + first;
        const auto of_part =
            rms_norm_backward({x.begin() + begin, x.begin() + end}, {dy.begin() + begin, dy.begin() + end},
                              {own, own + (end - begin)}, epsilon);
        std::ranges::copy(of_part.x, d.x.begin() + begin);
        for (std::size_t c = 0; c < end - begin; ++c) {
            d.gain[first + c] += of_part.gain[c];
        }
    });
    return d;
}

}  // namespace ziggurat::reference
