#include "kernels/norm/head_norm.hpp"

#include <algorithm>
#include <cmath>

#include "base/contract.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/partial_sums_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

constexpr int head_threads = 256;

/// Heads of rows of queries, keys and values. A group of adjacent lanes of a warp holds one head.
struct HeadRows {
    std::int64_t rows;
    int heads, kv_heads, head_dim;
    int lanes;  ///< of a group; a power of two
    bool is_aligned;
    float epsilon;
    float gain_offset;

    __device__ int all_heads() const { return heads + 2 * kv_heads; }
    __device__ int normalized() const { return heads + kv_heads; }
    __device__ int lane() const { return static_cast<int>(threadIdx.x) % lanes; }
    __device__ int begin() const { return lane() * pack; }
    /// Returns the number of channels of this thread; 0 if its group has no head.
    __device__ int count(bool has_head) const {
        const int left = head_dim - begin();
        return !has_head || left < 0 ? 0 : left < pack ? left : pack;
    }
    /// Returns the sum over the group, with the same bits in all of its lanes. All lanes of a warp call it.
    __device__ float sum(float value) const {
        for (int distance = lanes / 2; distance > 0; distance /= 2) {
            value += __shfl_xor_sync(all_lanes, value, distance);
        }
        return value;
    }
    __device__ float inverse_rms(const float (&x)[pack]) const {
        float squares = 0;
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            squares = std::fma(x[i], x[i], squares);
        }
        return 1.0F / std::sqrt(sum(squares) / float(head_dim) + epsilon);
    }
};

/// Loads the channels of this thread; zeros beyond them.
template <class T>
__device__ void load_channels(const T* from, int count, bool is_aligned, float (&to)[pack]) {
    if (count > 0) {
        load_some(from, count, is_aligned, to);
        return;
    }
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        to[i] = 0;
    }
}

/// One group of lanes for each head of each row.
template <class T>
__global__ void __launch_bounds__(head_threads)
    normalize_heads(HeadRows of, const T* x, const T* gain, T* y) {
    const auto [row, number] = divided(thread_of_grid() / of.lanes, of.all_heads());
    const int head = static_cast<int>(number);
    const int count = of.count(row < of.rows);
    const auto at = (row * of.all_heads() + head) * of.head_dim + of.begin();
    float values[pack], own_gain[pack];
    load_channels(x + at, count, of.is_aligned, values);
    const float inverse = of.inverse_rms(values);
    if (head < of.normalized()) {
        load_channels(gain + (head < of.heads ? 0 : of.head_dim) + of.begin(), count, of.is_aligned,
                      own_gain);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            values[i] = values[i] * inverse * (of.gain_offset + own_gain[i]);
        }
    }
    if (count > 0) {
        store_some(y + at, count, of.is_aligned, values);
    }
}

/// A block computes the rows between two borders; each of its groups computes every n-th head of them.
template <class T>
__global__ void __launch_bounds__(head_threads)
    head_gradients(HeadRows of, const T* x, const T* gain, T* dx, PartialSums partial, bool keeps_sums) {
    __shared__ float of_groups[2][head_threads * pack];  // sums of queries and of keys
    const int groups = head_threads / of.lanes;
    const int group = static_cast<int>(threadIdx.x) / of.lanes;
    const auto first = partial.first_row(blockIdx.x) * of.normalized();
    const auto end = partial.first_row(blockIdx.x + 1) * of.normalized();
    float d_gain[2][pack] = {};
    for (auto turn = first; turn < end; turn += groups) {
        const auto [row, number] = divided(turn + group, of.normalized());
        const int head = static_cast<int>(number);
        const bool is_key = head >= of.heads;
        const int count = of.count(turn + group < end);
        const auto at = (row * of.all_heads() + head) * of.head_dim + of.begin();
        float values[pack], dy[pack], own_gain[pack];
        load_channels(x + at, count, of.is_aligned, values);
        load_channels(dx + at, count, of.is_aligned, dy);
        load_channels(gain + (is_key ? of.head_dim : 0) + of.begin(), count, of.is_aligned, own_gain);
        const float inverse = of.inverse_rms(values);
        float projection = 0;
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            const float normalized = values[i] * inverse;
            const float part = dy[i] * normalized;
            own_gain[i] += of.gain_offset;
            d_gain[0][i] += is_key ? 0.0F : part;
            d_gain[1][i] += is_key ? part : 0.0F;
            projection = std::fma(dy[i] * own_gain[i], normalized, projection);
        }
        projection = of.sum(projection) / float(of.head_dim);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            values[i] = inverse * std::fma(-(values[i] * inverse), projection, dy[i] * own_gain[i]);
        }
        if (count > 0) {
            store_some(dx + at, count, of.is_aligned, values);
        }
    }
    if (!keeps_sums) {
        return;
    }
#pragma unroll
    for (int sum = 0; sum < 2; ++sum) {
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            of_groups[sum][static_cast<int>(threadIdx.x) * pack + i] = d_gain[sum][i];
        }
    }
    __syncthreads();
    const int stride = of.lanes * pack;
    for (int column = static_cast<int>(threadIdx.x); column < 2 * of.head_dim; column += head_threads) {
        const int sum = column / of.head_dim, channel = column % of.head_dim;
        float total = 0;
        for (int g = 0; g < groups; ++g) {
            total += of_groups[sum][g * stride + channel];
        }
        partial.of_block(blockIdx.x, sum)[channel] = total;
    }
}

template <class... T>
HeadRows head_rows(
    std::int64_t rows, const QkvHeads& shape, float epsilon, float gain_offset, const T*... addresses) {
    ZG_EXPECTS(shape.head_dim <= max_head_norm_channels);
    int lanes = 1;
    while (lanes * pack < shape.head_dim) {
        lanes *= 2;
    }
    return {.rows = rows,
            .heads = static_cast<int>(shape.heads),
            .kv_heads = static_cast<int>(shape.kv_heads),
            .head_dim = static_cast<int>(shape.head_dim),
            .lanes = lanes,
            .is_aligned = are_rows_aligned(shape.head_dim, addresses...),
            .epsilon = epsilon,
            .gain_offset = gain_offset};
}

}  // namespace

template <class T>
void head_norm_forward(const device::Stream& stream,
                       const QkvHeads& shape,
                       TensorRef<const T, 2> x,
                       TensorRef<const T, 1> gain,
                       float gain_offset,
                       float epsilon,
                       TensorRef<T, 2> y) {
    const auto of = head_rows(x.extent(0), shape, epsilon, gain_offset, x.data, gain.data, y.data);
    const auto heads = of.rows * (of.heads + 2 * of.kv_heads);
    launch_grid(stream, "head_norm_forward", a_thread_each(heads * of.lanes, head_threads),
                normalize_heads<T>, of, x.data, gain.data, y.data);
}

template <class T>
void head_norm_backward(const device::Stream& stream,
                        const QkvHeads& shape,
                        TensorRef<const T, 2> x,
                        TensorRef<const T, 1> gain,
                        float gain_offset,
                        float epsilon,
                        TensorRef<T, 2> dx,
                        TensorRef<float, 1> d_gain,
                        Accumulate accumulate,
                        std::span<std::byte> workspace) {
    const auto of = head_rows(x.extent(0), shape, epsilon, gain_offset, x.data, gain.data, dx.data);
    const auto width = shape.head_dim;
    // Each group gets at least four heads, because each block costs one more sum.
    const auto blocks =
        std::clamp<std::int64_t>(of.rows * (of.heads + of.kv_heads) * of.lanes / (4 * head_threads), 1,
                                 layout::CudaWorkspaces::column_sum_blocks(width));
    const PartialSums sums{of.rows, width, blocks, workspace};
    launch_grid(stream, "head_norm_backward", {blocks, head_threads}, head_gradients<T>, of, x.data,
                gain.data, dx.data, sums, !d_gain.empty());
    if (!d_gain.empty()) {
        finish(stream, sums, accumulate, {d_gain.data, {width}}, {d_gain.data + width, {width}});
    }
}

ZG_REGISTER_CUDA_KERNEL(head_norm_forward<float>);
ZG_REGISTER_CUDA_KERNEL(head_norm_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(head_norm_backward<float>);
ZG_REGISTER_CUDA_KERNEL(head_norm_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
