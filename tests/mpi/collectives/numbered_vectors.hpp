/// Vectors whose values identify their origin, and a scalar reference of their sums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/collectives.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::test {

/// Returns element i of rank r: r * 1000 + i, so that a wrong rank and a wrong offset give different
/// values.
inline float numbered(int rank, std::int64_t i) {
    return static_cast<float>(rank * 1000 + i);
}

/// Returns element i of rank r with a fraction whose sums round: the last bits depend on the order of
/// sums.
inline float ragged(int rank, std::int64_t i) {
    return static_cast<float>((rank % 2 == 0 ? 1.0 : -1.0) * (1.0 + 0.3 * rank) *
                              (0.1 + static_cast<double>(i % 97)) /
                              (1.0 + static_cast<double>((i * 7 + rank * 13) % 31)));
}

template <class T, class Value>
std::vector<T> filled(std::int64_t elements, int rank, const Value& value) {
    std::vector<T> result;
    for (std::int64_t i = 0; i < elements; ++i) {
        result.push_back(T{value(rank, i)});
    }
    return result;
}

/// Computes the fold of comm/fold.hpp element by element.
template <class T, class Value>
T expected_sum(int members, int sum_group, std::int64_t i, const Value& value) {
    const int group = sum_group == 0 ? members : sum_group;
    float total = 0;
    for (int first = 0; first < members; first += group) {
        float part = static_cast<float>(T{value(first, i)});
        for (int m = first + 1; m < members && m < first + group; ++m) {
            part += static_cast<float>(T{value(m, i)});
        }
        total = first == 0 ? part : total + part;
    }
    return T{total};
}

template <class T>
constexpr spec::DType dtype_of = sizeof(T) == 4 ? spec::DType::f32 : spec::DType::bf16;

template <class T, class Allocator>
const std::byte* bytes(const std::vector<T, Allocator>& vector) {
    return reinterpret_cast<const std::byte*>(vector.data());
}

template <class T, class Allocator>
std::byte* bytes(std::vector<T, Allocator>& vector) {
    return reinterpret_cast<std::byte*>(vector.data());
}

/// Returns adjacent blocks of different sizes: member 1 has an empty one, the others have growing ones.
template <class T>
std::vector<comm::Block> uneven_blocks(int members, std::int64_t unit) {
    std::vector<comm::Block> blocks;
    std::int64_t offset = 0;
    for (int m = 0; m < members; ++m) {
        const std::int64_t size = m == 1 ? 0 : (unit * (m + 1) + m) * static_cast<std::int64_t>(sizeof(T));
        blocks.push_back({offset, size});
        offset += size;
    }
    return blocks;
}

template <class T>
std::int64_t elements_of(const std::vector<comm::Block>& blocks) {
    return blocks.back().end() / static_cast<std::int64_t>(sizeof(T));
}

}  // namespace ziggurat::test
