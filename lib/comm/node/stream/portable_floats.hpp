/// Vectors of 16 floats for any CPU.
#pragma once

#include <cstddef>
#include <cstring>

#include "tensor/bfloat16.hpp"

namespace ziggurat::comm::stream {

/// Vector in portable code, which the compiler vectorises. Has no non-temporal stores.
struct PortableFloats {
    struct Float {
        float lane[16];
    };
    static constexpr std::size_t alignment = 1;

    template <class T>
    [[gnu::always_inline]] static Float load(const std::byte* from) {
        T values[16];
        std::memcpy(values, from, sizeof values);
        Float result;
        for (int i = 0; i < 16; ++i) {
            result.lane[i] = static_cast<float>(values[i]);
        }
        return result;
    }
    template <class T>
    [[gnu::always_inline]] static void store(std::byte* to, const Float& x) {
        T values[16];
        for (int i = 0; i < 16; ++i) {
            tensor::store(values[i], x.lane[i]);
        }
        std::memcpy(to, values, sizeof values);
    }
    template <class T>
    [[gnu::always_inline]] static void stream(std::byte* to, const Float& x) {
        store<T>(to, x);
    }
    [[gnu::always_inline]] static Float add(const Float& a, const Float& b) {
        Float result;
        for (int i = 0; i < 16; ++i) {
            result.lane[i] = a.lane[i] + b.lane[i];
        }
        return result;
    }
    static void fence() {}
    static void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
        std::memcpy(to, from, bytes);
    }
};

}  // namespace ziggurat::comm::stream
