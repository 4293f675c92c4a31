/// RowPack: adjacent elements in a row of a matrix; only *_cuda.cu files include it.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/pack_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// The part of a row that one thread processes: `pack` elements, fewer at the row's end.
struct RowPack {
    std::int64_t row;
    std::int64_t begin;
    int count;
};

/// A number of rows and the rest.
struct Quotient {
    std::int64_t rows, rest;
};

/// Divides with 32 bits if possible, which takes a fraction of the instructions.
///
/// \pre neither is negative
__device__ inline Quotient divided(std::int64_t number, std::int64_t width) {
    if ((number | width) >> 32 == 0) {
        const auto rows = static_cast<std::uint32_t>(number) / static_cast<std::uint32_t>(width);
        return {rows, static_cast<std::uint32_t>(number) - rows * static_cast<std::uint32_t>(width)};
    }
    return {number / width, number % width};
}

__host__ __device__ inline std::int64_t packs_of(std::int64_t width) {
    return (width + pack - 1) / pack;
}

/// Returns a grid with one thread for each pack of `rows` rows.
inline Grid a_thread_each_pack(std::int64_t rows, std::int64_t width) {
    return a_thread_each(rows * packs_of(width));
}

/// Returns this thread's pack; its row is `rows` or more if the thread has no pack.
__device__ inline RowPack row_pack(std::int64_t width) {
    const auto [row, number] = divided(thread_of_grid(), packs_of(width));
    const auto begin = number * pack;
    return {row, begin, static_cast<int>(width - begin < pack ? width - begin : pack)};
}

/// Returns true if every pack of all rows of `width` elements at these addresses allows 16-byte access.
template <class... T>
bool are_rows_aligned(std::int64_t width, const T*... addresses) {
    return width % pack == 0 && are_aligned(addresses...);
}

/// Loads `count` elements at `from` as floats, 16 bytes at a time if rows are aligned.
template <class T>
__device__ inline void load_some(const T* from, int count, bool is_aligned, float (&to)[pack]) {
    if (is_aligned) {
        load_pack(from, to);
        return;
    }
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        to[i] = i < count ? float(from[i]) : 0.0F;
    }
}

/// A pack in its memory format, as words: half the registers of floats for bfloat16.
template <class T>
struct alignas(16) RawPack {
    static constexpr int words = pack * static_cast<int>(sizeof(T)) / 4;
    std::uint32_t word[words];

    __device__ float operator[](int i) const {
        if constexpr (sizeof(T) == 4) {
            return __uint_as_float(word[i]);
        } else {
            return __uint_as_float(i % 2 == 0 ? word[i / 2] << 16 : word[i / 2] & 0xffff0000u);
        }
    }
    __device__ void to_floats(float (&to)[pack]) const {
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            to[i] = (*this)[i];
        }
    }
};

/// Loads as load_some does, without conversion; zeros after the first `count` elements.
template <class T>
__device__ inline RawPack<T> load_raw(const T* from, int count, bool is_aligned) {
    if (is_aligned) {
        return *reinterpret_cast<const RawPack<T>*>(from);
    }
    RawPack<T> raw;
#pragma unroll
    for (int w = 0; w < RawPack<T>::words; ++w) {
        if constexpr (sizeof(T) == 4) {
            raw.word[w] = w < count ? __float_as_uint(from[w]) : 0;
        } else {
            const std::uint32_t low = 2 * w < count ? from[2 * w].bits : 0;
            const std::uint32_t high = 2 * w + 1 < count ? from[2 * w + 1].bits : 0;
            raw.word[w] = low | high << 16;
        }
    }
    return raw;
}

/// Stores the first `count` elements, rounded if T is narrower.
template <class T>
__device__ inline void store_some(T* to, int count, bool is_aligned, const float (&from)[pack]) {
    if (is_aligned) {
        store_pack(to, from);
        return;
    }
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        if (i < count) {
            tensor::store(to[i], from[i]);
        }
    }
}

}  // namespace ziggurat::kernels::cuda
