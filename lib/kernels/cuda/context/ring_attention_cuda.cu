#include "kernels/context/ring_attention.hpp"

#include <span>
#include <type_traits>

#include "kernels/cuda/attention_launch_cuda.hpp"
#include "kernels/cuda/context/ring_arguments_cuda.hpp"
#include "kernels/cuda/map_cuda.hpp"
#include "layout/attention_choice.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

struct Rounded {
    __device__ float operator()(float a) const { return a; }
};

template <class T, class... Others>
RingArguments<T> ring_arguments(const AttentionShape& shape,
                                const RingRound& round,
                                TensorRef<const T, 2> qkv,
                                TensorRef<const T, 2> kv,
                                TensorRef<const std::int32_t, 1> document_starts,
                                const DropoutView& dropout,
                                const Others*... others) {
    RingArguments<T> of{.shape = shape,
                        .block = static_cast<int>(round.block),
                        .query_position = {},
                        .key_position = {},
                        .key_blocks = round.keys.count,
                        .met = 0,
                        .met_queries = {},
                        .met_keys = {},
                        .qkv = qkv.data,
                        .kv = kv.data,
                        .document_starts = document_starts.empty() ? nullptr : document_starts.data,
                        .dropout = dropout,
                        .scale = shape.score_scale(),
                        .scores = SoftcapReader::of(shape.score_scale(), shape.score_cap),
                        .is_aligned = are_rows_aligned(shape.head_dim, qkv.data, kv.data, others...)};
    const auto add = [](MetBlocks& met, int block) {
        met.first = met.count == 0 ? block : met.first;
        met.count = block - met.first + 1;
    };
    for (int q = 0; q < 2; ++q) {
        of.query_position[q] = static_cast<int>(round.queries.index[q] * round.block);
        for (int k = 0; k < round.keys.count; ++k) {
            of.key_position[k] = static_cast<int>(round.keys.index[k] * round.block);
            if (round.meet(round.queries.index[q], round.keys.index[k])) {
                of.met |= 1U << (2 * q + k);
                add(of.met_queries, q);
            }
        }
    }
    for (int k = 0; k < round.keys.count; ++k) {
        if (of.meet(0, k) || of.meet(1, k)) {
            add(of.met_keys, k);
        }
    }
    return of;
}

/// Returns true if tensor cores compute a call.
template <class T>
bool uses_tensor_cores(const AttentionShape& shape, const DropoutView& dropout) {
    const layout::AttentionUse use{.is_bfloat16 = std::is_same_v<T, tensor::bfloat16>,
                                   .has_dropout = dropout.probability != 0,
                                   .has_softcap = shape.score_cap > 0,
                                   .is_ring = true};
    const layout::AttentionSizes sizes{shape.batch, shape.seq, shape.heads, shape.kv_heads, shape.head_dim};
    return layout::choose_attention(use, sizes, layout::any_capability, true).kernel ==
           AttentionKernel::tensor_cores;
}

/// Rows of keys in blocks, and the columns of queries before them in the rank's rows.
struct PackedKeys {
    std::int64_t batch, block, query_width, key_width;
    bool is_aligned;

    /// Returns the row of blocks with the keys of a row of the rank.
    __device__ std::int64_t row(std::int64_t row) const {
        const auto [sequence, in_sequence] = divided(row, 2 * block);
        const bool is_second = in_sequence >= block;
        return ((is_second ? batch : 0) + sequence) * block + in_sequence - (is_second ? block : 0);
    }
};

template <class... Tensors>
PackedKeys packed_keys(const AttentionShape& shape, std::int64_t rows, const Tensors*... tensors) {
    return {.batch = shape.batch,
            .block = rows / (2 * shape.batch),
            .query_width = shape.heads * shape.head_dim,
            .key_width = 2 * shape.kv_heads * shape.head_dim,
            .is_aligned = are_rows_aligned(shape.head_dim, tensors...)};
}

/// One thread for each pack of keys and values.
template <class T>
__global__ void __launch_bounds__(256) pack_keys(PackedKeys of, std::int64_t rows, const T* qkv, T* kv) {
    const auto part = row_pack(of.key_width);
    if (part.row >= rows) {
        return;
    }
    float value[pack];
    load_some(qkv + part.row * (of.query_width + of.key_width) + of.query_width + part.begin, part.count,
              of.is_aligned, value);
    store_some(kv + of.row(part.row) * of.key_width + part.begin, part.count, of.is_aligned, value);
}

/// One thread for each pack of queries, keys and values.
template <class T>
__global__ void __launch_bounds__(256)
    join_gradients(PackedKeys of, std::int64_t rows, const float* d_q, const float* d_kv, T* d_qkv) {
    const auto query_packs = packs_of(of.query_width);
    const auto [row, number] = divided(thread_of_grid(), query_packs + packs_of(of.key_width));
    if (row >= rows) {
        return;
    }
    const bool is_query = number < query_packs;
    const auto begin = (is_query ? number : number - query_packs) * pack;
    const auto width = is_query ? of.query_width : of.key_width;
    const auto count = static_cast<int>(width - begin < pack ? width - begin : pack);
    float value[pack];
    load_some((is_query ? d_q + row * width : d_kv + of.row(row) * width) + begin, count, of.is_aligned,
              value);
    store_some(d_qkv + row * (of.query_width + of.key_width) + (is_query ? 0 : of.query_width) + begin, count,
               of.is_aligned, value);
}

}  // namespace

template <class T>
void pack_ring_keys(const device::Stream& stream,
                    const AttentionShape& shape,
                    TensorRef<const T, 2> qkv,
                    TensorRef<T, 2> kv) {
    const auto of = packed_keys(shape, qkv.extent(0), qkv.data, static_cast<const T*>(kv.data));
    launch_grid(stream, "pack_ring_keys", a_thread_each_pack(qkv.extent(0), of.key_width), pack_keys<T>, of,
                qkv.extent(0), qkv.data, kv.data);
}

template <class T>
void ring_attention_forward(const device::Stream& stream,
                            const AttentionShape& shape,
                            const RingRound& round,
                            TensorRef<const T, 2> qkv,
                            TensorRef<const T, 2> kv,
                            TensorRef<const std::int32_t, 1> document_starts,
                            const DropoutView& dropout,
                            TensorRef<float, 2> merged,
                            TensorRef<float, 3> lse,
                            TensorRef<T, 2> out,
                            std::span<std::byte> /*workspace*/) {
    const auto of = ring_arguments(shape, round, qkv, kv, document_starts, dropout);
    const MergedResults results{
        .merged = merged.data, .lse = lse.data, .is_first = round.keys == round.queries};
    const bool on_tensor_cores = uses_tensor_cores<T>(shape, dropout);
    if constexpr (std::is_same_v<T, tensor::bfloat16>) {
        if (on_tensor_cores) {
            mma_ring_forward(stream, of, results);
        }
    }
    if (!on_tensor_cores) {
        launch_attention_forward(stream, of, results);
    }
    if (!out.empty()) {
        map(stream, "ring_attention_forward", Rounded{}, out.extent(0) * out.extent(1), out.data,
            static_cast<const float*>(merged.data));
    }
}

template <class T>
void ring_attention_backward(const device::Stream& stream,
                             const AttentionShape& shape,
                             const RingRound& round,
                             TensorRef<const T, 2> qkv,
                             TensorRef<const T, 2> kv,
                             TensorRef<const std::int32_t, 1> document_starts,
                             const DropoutView& dropout,
                             TensorRef<const T, 2> out,
                             TensorRef<const T, 2> d_out,
                             TensorRef<const float, 3> lse,
                             Accumulate accumulate,
                             TensorRef<float, 2> d_q,
                             TensorRef<float, 2> d_kv,
                             std::span<std::byte> workspace) {
    const auto of = ring_arguments(shape, round, qkv, kv, document_starts, dropout, d_out.data);
    const RingGradients<T> with{.out = out.data,
                                .d_out = d_out.data,
                                .lse = lse.data,
                                .d_q = d_q.data,
                                .d_kv = d_kv.data,
                                .adds_to_d_q = round.keys != round.queries,
                                .adds_to_d_kv = accumulate == Accumulate::yes};
    if constexpr (std::is_same_v<T, tensor::bfloat16>) {
        if (uses_tensor_cores<T>(shape, dropout)) {
            mma_ring_backward(stream, of, with, workspace);
            return;
        }
    }
    launch_attention_backward(stream, of, with);
}

template <class T>
void join_ring_gradients(const device::Stream& stream,
                         const AttentionShape& shape,
                         TensorRef<const float, 2> d_q,
                         TensorRef<const float, 2> d_kv,
                         TensorRef<T, 2> d_qkv) {
    const auto rows = d_qkv.extent(0);
    const auto of = packed_keys(shape, rows, d_q.data, d_kv.data, d_qkv.data);
    launch_grid(stream, "join_ring_gradients",
                a_thread_each(rows * (packs_of(of.query_width) + packs_of(of.key_width))), join_gradients<T>,
                of, rows, static_cast<const float*>(d_q.data), static_cast<const float*>(d_kv.data),
                d_qkv.data);
}

#define ZG_REGISTER(T)                                   \
    ZG_REGISTER_CUDA_KERNEL(pack_ring_keys<T>);          \
    ZG_REGISTER_CUDA_KERNEL(ring_attention_forward<T>);  \
    ZG_REGISTER_CUDA_KERNEL(ring_attention_backward<T>); \
    ZG_REGISTER_CUDA_KERNEL(join_ring_gradients<T>)
ZG_REGISTER(float);
ZG_REGISTER(tensor::bfloat16);
#undef ZG_REGISTER

}  // namespace ziggurat::kernels::cuda
