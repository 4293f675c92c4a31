/// RowPack: elements side by side in a row of a matrix; only *_cuda.cu files include it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/pack_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// The part of a row that one thread takes: `pack` elements, fewer at the row's end.
struct RowPack {
    std::int64_t row;
    std::int64_t begin;
    int count;
};

__host__ __device__ inline std::int64_t packs_of(std::int64_t width) {
    return (width + pack - 1) / pack;
}

/// Threads of a block that has a row, at most.
inline constexpr int most_row_threads = 256;

/// Whole warps, and no more threads than the row has packs, for idle ones would keep other rows from the
/// multiprocessor.
inline int threads_of_row(std::int64_t width) {
    const auto warps = (packs_of(width) + warp_size - 1) / warp_size;
    return static_cast<int>(std::min<std::int64_t>(warps * warp_size, most_row_threads));
}

/// A block for each row.
inline Grid rows_grid(std::int64_t rows, std::int64_t width) {
    return {rows, threads_of_row(width)};
}

/// A thread for each pack of `rows` rows.
inline Grid a_thread_each_pack(std::int64_t rows, std::int64_t width) {
    return a_thread_each(rows * packs_of(width));
}

/// That of this thread; its row is `rows` or more where it has none.
__device__ inline RowPack row_pack(std::int64_t width) {
    const auto packs = packs_of(width);
    const auto thread = thread_of_grid();
    const auto row = thread / packs;
    const auto begin = (thread - row * packs) * pack;
    return {row, begin, static_cast<int>(width - begin < pack ? width - begin : pack)};
}

/// Whether lines can be moved at every pack of all rows of `width` elements that begin at these addresses.
template <class... T>
bool are_rows_aligned(std::int64_t width, const T*... addresses) {
    return width % pack == 0 && are_aligned(addresses...);
}

/// `count` elements at `from` as floats; lines at a time where rows are aligned.
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

/// Rounds where T is narrower.
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
