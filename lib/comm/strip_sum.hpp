/// Loops of sums over strips: parts of vectors whose partial sums stay in the L1 cache.
///
/// Numerics: fp32, rounded once when a strip is stored. `T` is the type of the vector, at any alignment
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/unaligned_element.hpp"

namespace ziggurat::comm {

/// Number of elements of a strip.
inline constexpr std::int64_t strip_elements = 2048;

template <class T>
void load_strip(float* __restrict sum, const std::byte* __restrict from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        sum[i] = load_element<T>(from, i);
    }
}

template <class T>
void add_strip(float* __restrict sum, const std::byte* __restrict from, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        sum[i] += load_element<T>(from, i);
    }
}

inline void add_sums(float* __restrict sum, const float* __restrict more, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        sum[i] += more[i];
    }
}

template <class T>
void store_strip(std::byte* __restrict to, const float* __restrict sum, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
        store_element<T>(to, i, sum[i]);
    }
}

}  // namespace ziggurat::comm
