/// Norm of each query and key head (QK-norm) in double precision, written for readability.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tests/reference/rms_norm.hpp"

namespace ziggurat::reference {

/// Numbers of heads of a row of queries, keys and values, and the channels of each.
struct Heads {
    std::size_t queries, keys, channels;

    std::size_t width() const { return (queries + 2 * keys) * channels; }
};

/// Calls body(first element, its gain, index of that gain's first element) for each normalized head.
template <class Body>
void for_normalized_heads(std::size_t elements,
                          const std::vector<double>& gain,
                          const Heads& heads,
                          const Body& body) {
    const auto d = heads.channels;
    for (std::size_t row = 0; row < elements; row += heads.width()) {
        for (std::size_t head = 0; head < heads.queries + heads.keys; ++head) {
            const std::size_t first = head < heads.queries ? 0 : d;
            body(row + head * d, std::vector<double>(gain.begin() + first, gain.begin() + first + d), first);
        }
    }
}

/// \param gain  of queries, then of keys
inline std::vector<double> head_norm(const std::vector<double>& x,
                                     const std::vector<double>& gain,
                                     const Heads& heads,
                                     double epsilon) {
    auto y = x;
    for_normalized_heads(x.size(), gain, heads, [&](std::size_t at, const auto& own, std::size_t) {
        const std::vector<double> head(x.begin() + at, x.begin() + at + heads.channels);
        std::ranges::copy(rms_norm(head, own, epsilon), y.begin() + at);
    });
    return y;
}

inline RmsNormGradients head_norm_backward(const std::vector<double>& x,
                                           const std::vector<double>& dy,
                                           const std::vector<double>& gain,
                                           const Heads& heads,
                                           double epsilon) {
    RmsNormGradients d{dy, std::vector<double>(gain.size())};
    for_normalized_heads(x.size(), gain, heads, [&](std::size_t at, const auto& own, std::size_t first) {
        const auto end = at + heads.channels;
        const auto of_head = rms_norm_backward({x.begin() + at, x.begin() + end},
                                               {dy.begin() + at, dy.begin() + end}, own, epsilon);
        std::ranges::copy(of_head.x, d.x.begin() + at);
        for (std::size_t c = 0; c < heads.channels; ++c) {
            d.gain[first + c] += of_head.gain[c];
        }
    });
    return d;
}

}  // namespace ziggurat::reference
