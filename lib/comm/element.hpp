/// Elements of vectors that may begin at any byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ziggurat::comm {

// memcpy makes loads and stores of any alignment defined and costs nothing.

/// Element `i` of a vector of T at `from`.
template <class T>
[[gnu::always_inline]] inline float load_element(const std::byte* from, std::int64_t i) {
    T value;
    std::memcpy(&value, from + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
    return static_cast<float>(value);
}

/// Rounds `value` to T.
template <class T>
[[gnu::always_inline]] inline void store_element(std::byte* to, std::int64_t i, float value) {
    const T stored{value};
    std::memcpy(to + i * static_cast<std::int64_t>(sizeof(T)), &stored, sizeof(T));
}

}  // namespace ziggurat::comm
