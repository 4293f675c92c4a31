#include "kernels/norm/whole_norm.hpp"

#include <algorithm>
#include <cmath>

#include "base/contract.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/partial_sums_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

constexpr int sum_threads = 256;
/// Largest block of a backward pass, and the packs of a row that each of its threads has.
constexpr int max_gradient_threads = 512;
constexpr int gradient_packs = 5;
constexpr int max_span = max_gradient_threads * gradient_packs * pack;

/// Rows of queries, keys and values; a part of a row is its queries (0) or its keys (1).
struct WholeRows {
    std::int64_t rows;
    int width, queries, normalized;  ///< columns of a row: all; of queries; of queries and keys
    float all_queries, all_keys;     ///< elements of each part, over all ranks
    bool is_aligned;                 ///< packs are aligned and belong to one part
    float epsilon;

    __device__ float elements(int part) const { return part == 0 ? all_queries : all_keys; }
    __device__ float inverse_rms(const float* sums, int part) const {
        return 1.0F / std::sqrt(sums[part] / elements(part) + epsilon);
    }
    __device__ int part(int column) const { return column < queries ? 0 : 1; }
    /// Returns the number of columns of a pack before `end`.
    __device__ static int count(int begin, int end) {
        return begin >= end ? 0 : end - begin < pack ? end - begin : pack;
    }
};

template <class... T>
WholeRows whole_rows(
    std::int64_t rows, const QkvHeads& shape, int ranks, float epsilon, const T*... addresses) {
    const auto queries = shape.heads * shape.head_dim, keys = shape.kv_heads * shape.head_dim;
    return {.rows = rows,
            .width = static_cast<int>(shape.width()),
            .queries = static_cast<int>(queries),
            .normalized = static_cast<int>(queries + keys),
            .all_queries = float(queries * ranks),
            .all_keys = float(keys * ranks),
            .is_aligned = are_rows_aligned(shape.head_dim, addresses...),
            .epsilon = epsilon};
}

/// One block for each row.
template <class T>
__global__ void __launch_bounds__(sum_threads) sum_squares(WholeRows of, const T* x, float* sums) {
    __shared__ float of_warps[2][sum_threads / warp_size];
    const std::int64_t row = blockIdx.x;
    float squares[2] = {};
    for (int begin = static_cast<int>(threadIdx.x) * pack; begin < of.normalized;
         begin += sum_threads * pack) {
        float values[pack];
        load_some(x + row * of.width + begin, of.count(begin, of.normalized), of.is_aligned, values);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            const bool is_query = of.part(begin + i) == 0;
            squares[0] = std::fma(is_query ? values[i] : 0.0F, values[i], squares[0]);
            squares[1] = std::fma(is_query ? 0.0F : values[i], values[i], squares[1]);
        }
    }
    sum_over_warps_once(squares, 0, sum_threads / warp_size, of_warps);
    if (threadIdx.x < 2) {
        sums[2 * row + threadIdx.x] = threadIdx.x == 0 ? squares[0] : squares[1];
    }
}

/// One thread for each pack of queries and keys.
template <class T>
__global__ void __launch_bounds__(256)
    add_through_sums(WholeRows of, const T* x, const float* d_sums, T* dx) {
    const auto part = row_pack(of.normalized);
    if (part.row >= of.rows) {
        return;
    }
    const int begin = static_cast<int>(part.begin);
    const auto at = part.row * of.width + begin;
    float values[pack], gradient[pack];
    load_some(x + at, part.count, of.is_aligned, values);
    load_some(static_cast<const T*>(dx) + at, part.count, of.is_aligned, gradient);
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        gradient[i] = std::fma(values[i], 2 * d_sums[2 * part.row + of.part(begin + i)], gradient[i]);
    }
    store_some(dx + at, part.count, of.is_aligned, gradient);
}

/// One thread for each pack of a row.
template <class T>
__global__ void __launch_bounds__(256)
    normalize_whole(WholeRows of, const T* x, const float* sums, const T* gain, T* y) {
    const auto part = row_pack(of.width);
    if (part.row >= of.rows) {
        return;
    }
    const int begin = static_cast<int>(part.begin);
    const auto at = part.row * of.width + begin;
    float values[pack];
    load_some(x + at, part.count, of.is_aligned, values);
    if (const int count = of.count(begin, of.normalized); count > 0) {
        const float inverse[2] = {of.inverse_rms(sums + 2 * part.row, 0),
                                  of.inverse_rms(sums + 2 * part.row, 1)};
        float own_gain[pack];
        load_some(gain + begin, count, of.is_aligned, own_gain);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            const float scaled =
                values[i] * (of.part(begin + i) == 0 ? inverse[0] : inverse[1]) * own_gain[i];
            values[i] = i < count ? scaled : values[i];
        }
    }
    store_some(y + at, part.count, of.is_aligned, values);
}

/// Columns [begin, end) of queries and keys, which one launch computes.
struct Span {
    int begin, end;
};

/// A block computes the rows between two borders and sums their columns in registers.
template <class T>
__global__ void __launch_bounds__(max_gradient_threads) whole_gradients(WholeRows of,
                                                                        Span span,
                                                                        const T* x,
                                                                        const float* sums,
                                                                        const T* gain,
                                                                        T* dx,
                                                                        float* d_sums,
                                                                        PartialSums partial,
                                                                        bool keeps_sums) {
    __shared__ float of_warps[2][2][max_gradient_threads / warp_size];  // in turns
    const int threads = static_cast<int>(blockDim.x);
    const auto begin_of = [&](int k) {
        return span.begin + (k * threads + static_cast<int>(threadIdx.x)) * pack;
    };
    float d_gain[gradient_packs][pack] = {};
    const auto end = partial.first_row(blockIdx.x + 1);
    int turn = 0;
    for (auto row = partial.first_row(blockIdx.x); row < end; ++row) {
        const float inverse[2] = {of.inverse_rms(sums + 2 * row, 0), of.inverse_rms(sums + 2 * row, 1)};
        float projection[2] = {};
#pragma unroll
        for (int k = 0; k < gradient_packs; ++k) {
            const int begin = begin_of(k);
            const int count = of.count(begin, span.end);
            if (count == 0) {
                continue;
            }
            const auto at = row * of.width + begin;
            float values[pack], dy[pack], own_gain[pack];
            load_some(x + at, count, of.is_aligned, values);
            load_some(static_cast<const T*>(dx) + at, count, of.is_aligned, dy);
            load_some(gain + begin, count, of.is_aligned, own_gain);
#pragma unroll
            for (int i = 0; i < pack; ++i) {
                const bool is_query = of.part(begin + i) == 0;
                const float own_inverse = is_query ? inverse[0] : inverse[1];
                const float normalized = values[i] * own_inverse;
                const float scaled = dy[i] * own_gain[i];
                d_gain[k][i] = std::fma(dy[i], normalized, d_gain[k][i]);
                projection[0] = std::fma(is_query ? scaled : 0.0F, normalized, projection[0]);
                projection[1] = std::fma(is_query ? 0.0F : scaled, normalized, projection[1]);
                values[i] = own_inverse * scaled;
            }
            store_some(dx + at, count, of.is_aligned, values);
        }
        if (d_sums == nullptr) {
            continue;
        }
        sum_over_warps_once(projection, 0, threads / warp_size, of_warps[turn]);
        turn = 1 - turn;
        if (threadIdx.x < 2) {
            const int part = static_cast<int>(threadIdx.x);
            const float own = part == 0 ? inverse[0] : inverse[1];
            const float total = part == 0 ? projection[0] : projection[1];
            const float before = span.begin > 0 ? d_sums[2 * row + part] : 0.0F;
            d_sums[2 * row + part] = before - 0.5F * own * own / of.elements(part) * total;
        }
    }
    if (!keeps_sums) {
        return;
    }
    float* const of_block = partial.of_block(blockIdx.x, 0);
#pragma unroll
    for (int k = 0; k < gradient_packs; ++k) {
        if (const int count = of.count(begin_of(k), span.end); count > 0) {
            store_some(of_block + begin_of(k), count, false, d_gain[k]);
        }
    }
}

}  // namespace

template <class T>
void square_sums(const device::Stream& stream,
                 const QkvHeads& shape,
                 TensorRef<const T, 2> x,
                 TensorRef<float, 2> sums) {
    const auto of = whole_rows(x.extent(0), shape, 1, 0, x.data);
    launch_grid(stream, "square_sums", {of.rows, sum_threads}, sum_squares<T>, of, x.data, sums.data);
}

template <class T>
void square_sums_backward(const device::Stream& stream,
                          const QkvHeads& shape,
                          TensorRef<const T, 2> x,
                          TensorRef<const float, 2> d_sums,
                          TensorRef<T, 2> dx) {
    const auto of = whole_rows(x.extent(0), shape, 1, 0, x.data, dx.data);
    launch_grid(stream, "square_sums_backward", a_thread_each_pack(of.rows, of.normalized),
                add_through_sums<T>, of, x.data, d_sums.data, dx.data);
}

template <class T>
void whole_norm_forward(const device::Stream& stream,
                        const QkvHeads& shape,
                        int ranks,
                        TensorRef<const T, 2> x,
                        TensorRef<const float, 2> sums,
                        TensorRef<const T, 1> gain,
                        float epsilon,
                        TensorRef<T, 2> y) {
    const auto of = whole_rows(x.extent(0), shape, ranks, epsilon, x.data, gain.data, y.data);
    launch_grid(stream, "whole_norm_forward", a_thread_each_pack(of.rows, of.width), normalize_whole<T>, of,
                x.data, sums.data, gain.data, y.data);
}

template <class T>
void whole_norm_backward(const device::Stream& stream,
                         const QkvHeads& shape,
                         int ranks,
                         TensorRef<const T, 2> x,
                         TensorRef<const float, 2> sums,
                         TensorRef<const T, 1> gain,
                         float epsilon,
                         TensorRef<T, 2> dx,
                         TensorRef<float, 2> d_sums,
                         TensorRef<float, 1> d_gain,
                         Accumulate accumulate,
                         std::span<std::byte> workspace) {
    const auto of = whole_rows(x.extent(0), shape, ranks, epsilon, x.data, gain.data, dx.data);
    // Each block gets at least four rows, because it costs one more sum.
    const auto blocks =
        std::clamp<std::int64_t>(of.rows / 4, 1, layout::CudaWorkspaces::column_sum_blocks(of.normalized));
    const PartialSums partial{of.rows, of.normalized, blocks, workspace};
    for (int begin = 0; begin < of.normalized; begin += max_span) {
        const Span span{begin, std::min(begin + max_span, of.normalized)};
        const auto warps = (packs_of(span.end - span.begin) + warp_size - 1) / warp_size;
        const auto threads =
            static_cast<int>(std::min<std::int64_t>(warps * warp_size, max_gradient_threads));
        launch_grid(stream, "whole_norm_backward", {blocks, threads}, whole_gradients<T>, of, span, x.data,
                    sums.data, gain.data, dx.data, d_sums.empty() ? nullptr : d_sums.data, partial,
                    !d_gain.empty());
    }
    if (!d_gain.empty()) {
        finish(stream, partial, accumulate, d_gain);
    }
}

ZG_REGISTER_CUDA_KERNEL(square_sums<float>);
ZG_REGISTER_CUDA_KERNEL(square_sums<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(square_sums_backward<float>);
ZG_REGISTER_CUDA_KERNEL(square_sums_backward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(whole_norm_forward<float>);
ZG_REGISTER_CUDA_KERNEL(whole_norm_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(whole_norm_backward<float>);
ZG_REGISTER_CUDA_KERNEL(whole_norm_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
