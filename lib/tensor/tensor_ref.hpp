/// A borrowed, contiguous, row-major tensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace ziggurat::tensor {

/// A pointer and its extents, without ownership.
///
/// Replaces all (pointer, count) pairs of Ziggurat's APIs.
template <class T, int Rank>
struct TensorRef {
    T* data = nullptr;
    std::array<std::int64_t, Rank> extents{};

    std::int64_t extent(int dim) const noexcept { return extents[dim]; }
    std::int64_t size() const noexcept {
        std::int64_t n = 1;
        for (const auto e : extents) {
            n *= e;
        }
        return n;
    }
    /// The start of row `i` of a matrix.
    T* row(std::int64_t i) const noexcept requires(Rank == 2) { return data + i * extents[1]; }
    bool empty() const noexcept { return data == nullptr || size() == 0; }

    operator TensorRef<const T, Rank>() const noexcept requires(!std::is_const_v<T>) {
        return {data, extents};
    }
};

}  // namespace ziggurat::tensor
