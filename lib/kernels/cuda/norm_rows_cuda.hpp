/// Rows of norms: what a block does with the row that is its own; only *_cuda.cu files include it.
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/cuda/dropout_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// What block_sum wants of __shared__ memory.
using NormSums = float[1][most_row_threads / warp_size];

/// Calls body(begin, count) for each pack of the row that belongs to this thread: always the same ones, so
/// that it reads what it wrote without a barrier.
template <class Body>
__device__ inline void for_own_packs(std::int64_t width, const Body& body) {
    for (auto begin = static_cast<std::int64_t>(threadIdx.x) * pack; begin < width;
         begin += blockDim.x * pack) {
        body(begin, static_cast<int>(width - begin < pack ? width - begin : pack));
    }
}

/// to = x + dropout(branch), over the own packs of row `row`, which begins at these addresses.
template <class T>
__device__ inline void add_branch_row(const DropoutPacks& dropped,
                                      std::int64_t row,
                                      std::int64_t width,
                                      bool is_aligned,
                                      const T* x,
                                      const T* branch,
                                      T* to) {
    const auto place = dropped.place(row);
    for_own_packs(width, [&](std::int64_t begin, int count) {
        float a[pack], b[pack];
        load_some(x + begin, count, is_aligned, a);
        load_some(branch + begin, count, is_aligned, b);
        float factor[pack];
        if (dropped.drops()) {
            dropped.factors(place, begin, factor);
        }
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            a[i] = dropped.drops() ? std::fma(b[i], factor[i], a[i]) : a[i] + b[i];
        }
        store_some(to + begin, count, is_aligned, a);
    });
}

}  // namespace ziggurat::kernels::cuda
