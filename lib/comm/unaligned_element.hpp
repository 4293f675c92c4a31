/// Access to elements of vectors with arbitrary alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ziggurat::comm {

// memcpy makes unaligned loads and stores well-defined and costs nothing.

/// Loads element `i` of a vector of T at `from`.
template <class T>
[[gnu::always_inline]] inline float load_element(const std::byte* from, std::int64_t i) {
    T value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return static_cast<float>(value);
}

/// Rounds `value` to T and stores it as element `i`.
template <class T>
[[gnu::always_inline]] inline void store_element(std::byte* to, std::int64_t i, float value) {
    const T stored{value};
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof(T)), &stored, sizeof(T));
}

}  // namespace ziggurat::comm
