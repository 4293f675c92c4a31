#include <cmath>

#include "base/contract.hpp"
#include "kernels/cache/cached_attention.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"
#include "kernels/element/softcap.hpp"
#include "layout/cache/kv_cache.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

constexpr int page = layout::cache_page_positions;
constexpr int warps = 8;
constexpr int max_channels = 256;
constexpr int channels_each = max_channels / warp_size;

/// Rows of a call, and the cache that they extend.
template <class T>
struct CachedRows {
    std::int64_t rows, row_elements;
    int heads, kv_heads, head_dim, window;
    std::int64_t num_sequences, pages_of_sequence, num_pages;
    SoftcapReader scores;
    const T* qkv;
    const std::int32_t* positions;
    const std::int32_t* sequences;
    const std::int32_t* page_table;
    T* cache;

    __device__ bool is_used(std::int64_t row) const { return sequences[row] >= 0; }
    /// Returns head `head` of position `position` of the row's sequence; nullptr if its page is missing.
    ///
    /// Key heads come first, then value heads.
    __device__ T* at(std::int64_t row, int position, int head) const {
        const std::int64_t sequence = sequences[row];
        if (sequence >= num_sequences || position < 0 || position / page >= pages_of_sequence) {
            return nullptr;
        }
        const std::int64_t of_page = page_table[sequence * pages_of_sequence + position / page];
        if (of_page < 0 || of_page >= num_pages) {
            return nullptr;
        }
        return cache + ((of_page * 2 * kv_heads + head) * page + position % page) * head_dim;
    }
};

/// One thread for each channel of the keys and values of a row.
template <class T>
__global__ void __launch_bounds__(256) store_rows(CachedRows<T> of) {
    const std::int64_t width = std::int64_t{2} * of.kv_heads * of.head_dim;
    const auto row = thread_of_grid() / width;
    if (row >= of.rows || !of.is_used(row)) {
        return;
    }
    const int channel = static_cast<int>(thread_of_grid() % width);
    T* const to = of.at(row, of.positions[row], channel / of.head_dim);
    if (to != nullptr) {
        to[channel % of.head_dim] =
            of.qkv[row * of.row_elements + std::int64_t{of.heads} * of.head_dim + channel];
    }
}

/// One block for each query head of each row. Each warp attends to every eighth key.
///
/// A lane holds every 32nd channel. The results of the warps are merged in their order.
template <class T>
__global__ void __launch_bounds__(warp_size* warps) attend_to_cache(CachedRows<T> of, T* out) {
    __shared__ float tops[warps], totals[warps], sums[warps][max_channels];
    const std::int64_t row = blockIdx.x / of.heads;
    const int head = static_cast<int>(blockIdx.x % of.heads);
    const int kv_head = head / (of.heads / of.kv_heads);
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    T* const own_out = out + (row * of.heads + head) * of.head_dim;
    if (!of.is_used(row)) {
        for (int c = static_cast<int>(threadIdx.x); c < of.head_dim; c += warp_size * warps) {
            own_out[c] = T(0.0F);
        }
        return;
    }
    const T* const query = of.qkv + row * of.row_elements + std::int64_t{head} * of.head_dim;
    float q[channels_each], sum[channels_each]{};
#pragma unroll
    for (int i = 0; i < channels_each; ++i) {
        const int c = lane + i * warp_size;
        q[i] = c < of.head_dim ? float(query[c]) : 0.0F;
    }
    const int position = of.positions[row];
    const int start = of.window > 0 && position >= of.window ? position - of.window + 1 : 0;
    float top = -1e30F, total = 0;
    for (int key = start + warp; key <= position; key += warps) {
        const T* const k = of.at(row, key, kv_head);
        const T* const v = of.at(row, key, of.kv_heads + kv_head);
        float dot = 0;
#pragma unroll
        for (int i = 0; i < channels_each; ++i) {
            const int c = lane + i * warp_size;
            if (c < of.head_dim) {
                dot = std::fma(q[i], k == nullptr ? NAN : float(k[c]), dot);
            }
        }
        const float score = of.scores.read(warp_sum(dot)) * of.scores.slope;
        const float now = score > top || score != score ? score : top;
        const float rescale = exp2f(top - now);
        const float weight = exp2f(score - now);
        top = now;
        total = std::fma(total, rescale, weight);
        const float rounded = float(T(weight));
#pragma unroll
        for (int i = 0; i < channels_each; ++i) {
            const int c = lane + i * warp_size;
            if (c < of.head_dim) {
                sum[i] = std::fma(rounded, v == nullptr ? NAN : float(v[c]), sum[i] * rescale);
            }
        }
    }
    if (lane == 0) {
        tops[warp] = top;
        totals[warp] = total;
    }
#pragma unroll
    for (int i = 0; i < channels_each; ++i) {
        sums[warp][lane + i * warp_size] = sum[i];
    }
    __syncthreads();
    float highest = tops[0];
    for (int w = 1; w < warps; ++w) {
        highest = tops[w] > highest || tops[w] != tops[w] ? tops[w] : highest;
    }
    float all = 0;
    for (int w = 0; w < warps; ++w) {
        all = std::fma(totals[w], exp2f(tops[w] - highest), all);
    }
    for (int c = static_cast<int>(threadIdx.x); c < of.head_dim; c += warp_size * warps) {
        float value = 0;
        for (int w = 0; w < warps; ++w) {
            value = std::fma(sums[w][c], exp2f(tops[w] - highest), value);
        }
        own_out[c] = T(value / all);
    }
}

}  // namespace

template <class T>
void cached_attention(const device::Stream& stream,
                      const AttentionShape& shape,
                      std::int64_t window,
                      TensorRef<const T, 2> qkv,
                      TensorRef<const std::int32_t, 1> positions,
                      TensorRef<const std::int32_t, 1> sequences,
                      TensorRef<const std::int32_t, 2> page_table,
                      TensorRef<T, 4> cache,
                      TensorRef<T, 2> out,
                      std::span<std::byte>) {
    ZG_EXPECTS(shape.head_dim <= max_channels);
    const CachedRows<T> rows{.rows = shape.seq,
                             .row_elements = qkv.extent(1),
                             .heads = static_cast<int>(shape.heads),
                             .kv_heads = static_cast<int>(shape.kv_heads),
                             .head_dim = static_cast<int>(shape.head_dim),
                             .window = static_cast<int>(window),
                             .num_sequences = page_table.extent(0),
                             .pages_of_sequence = page_table.extent(1),
                             .num_pages = cache.extent(0),
                             .scores = SoftcapReader::of(shape.score_scale(), shape.score_cap),
                             .qkv = qkv.data,
                             .positions = positions.data,
                             .sequences = sequences.data,
                             .page_table = page_table.data,
                             .cache = cache.data};
    launch_grid(stream, "cached_attention store",
                a_thread_each(shape.seq * 2 * shape.kv_heads * shape.head_dim), store_rows<T>, rows);
    launch_grid(stream, "cached_attention", Grid{shape.seq * shape.heads, warp_size * warps},
                attend_to_cache<T>, rows, out.data);
}

ZG_REGISTER_CUDA_KERNEL(cached_attention<float>);
ZG_REGISTER_CUDA_KERNEL(cached_attention<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
