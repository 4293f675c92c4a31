#include "kernels/context/head_exchange.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

/// Query, key or value heads of two matrices; a thread copies or adds one pack of a part.
struct HeadBlock {
    ContextHeads parts;
    int block;
    std::int64_t rows;   ///< of the matrix with all heads
    std::int64_t width;  ///< of a part of the block
};

template <class T>
__global__ void __launch_bounds__(256)
    take_heads(HeadBlock of, bool is_aligned, const T* from, T* to, std::int64_t rows_of_all) {
    const auto part = row_pack(of.width);
    if (part.row >= rows_of_all) {
        return;
    }
    const auto [rank, row] = divided(part.row, of.rows);
    const auto columns = layout::head_columns(of.parts, rank, of.block);
    float value[pack];
    load_some(from + row * of.parts.width() + columns.in_row + part.begin, part.count, is_aligned, value);
    store_some(to + part.row * of.parts.part_width() + columns.in_part + part.begin, part.count, is_aligned,
               value);
}

template <class T>
__global__ void __launch_bounds__(256) put_heads(
    HeadBlock of, bool is_aligned, std::int64_t sharers, const T* from, T* to, std::int64_t rows_of_all) {
    const auto part = row_pack(of.width);
    if (part.row >= rows_of_all) {
        return;
    }
    const auto [group, row] = divided(part.row, of.rows);
    const auto first = group * sharers;
    const auto columns = layout::head_columns(of.parts, first, of.block);
    float sum[pack] = {};
    for (std::int64_t rank = first; rank < first + sharers; ++rank) {
        float value[pack];
        load_some(from + (rank * of.rows + row) * of.parts.part_width() + columns.in_part + part.begin,
                  part.count, is_aligned, value);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            sum[i] += value[i];
        }
    }
    store_some(to + row * of.parts.width() + columns.in_row + part.begin, part.count, is_aligned, sum);
}

template <class T>
__global__ void __launch_bounds__(256) move_blocks(std::int64_t outer,
                                                   std::int64_t inner,
                                                   std::int64_t n,
                                                   std::int64_t width,
                                                   bool is_aligned,
                                                   const T* from,
                                                   T* to) {
    const auto part = row_pack(width);
    if (part.row >= outer * inner * n) {
        return;
    }
    const auto [block, row] = divided(part.row, n);
    const auto [second, first] = divided(block, outer);
    const auto source = (first * inner + second) * n + row;
    float value[pack];
    load_some(from + source * width + part.begin, part.count, is_aligned, value);
    store_some(to + part.row * width + part.begin, part.count, is_aligned, value);
}

/// True if all heads of both matrices begin at multiples of 16 bytes.
template <class T>
bool are_heads_aligned(const ContextHeads& parts, const T* from, const T* to) {
    return are_rows_aligned(parts.head_dim, from, to);
}

}  // namespace

template <class T>
void split_heads(const device::Stream& stream,
                 const ContextHeads& parts,
                 TensorRef<const T, 2> from,
                 TensorRef<T, 2> to) {
    for (int block = 0; block < (parts.kv_heads > 0 ? 3 : 1); ++block) {
        const HeadBlock of{parts, block, from.extent(0), layout::head_columns(parts, 0, block).width};
        launch_grid(stream, "split_heads", a_thread_each_pack(to.extent(0), of.width), take_heads<T>, of,
                    are_heads_aligned(parts, from.data, static_cast<const T*>(to.data)), from.data, to.data,
                    to.extent(0));
    }
}

template <class T>
void join_heads(const device::Stream& stream,
                const ContextHeads& parts,
                TensorRef<const T, 2> from,
                TensorRef<T, 2> to) {
    for (int block = 0; block < (parts.kv_heads > 0 ? 3 : 1); ++block) {
        const HeadBlock of{parts, block, to.extent(0), layout::head_columns(parts, 0, block).width};
        const auto sharers = block == 0 ? 1 : parts.sharers();
        const auto rows = from.extent(0) / sharers;
        launch_grid(stream, "join_heads", a_thread_each_pack(rows, of.width), put_heads<T>, of,
                    are_heads_aligned(parts, from.data, static_cast<const T*>(to.data)), sharers, from.data,
                    to.data, rows);
    }
}

template <class T>
void exchange_blocks(const device::Stream& stream,
                     std::int64_t outer,
                     std::int64_t inner,
                     TensorRef<const T, 2> from,
                     TensorRef<T, 2> to) {
    const auto width = from.extent(1);
    launch_grid(stream, "exchange_blocks", a_thread_each_pack(from.extent(0), width), move_blocks<T>, outer,
                inner, from.extent(0) / (outer * inner), width,
                are_rows_aligned(width, from.data, static_cast<const T*>(to.data)), from.data, to.data);
}

ZG_REGISTER_CUDA_KERNEL(split_heads<float>);
ZG_REGISTER_CUDA_KERNEL(split_heads<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(join_heads<float>);
ZG_REGISTER_CUDA_KERNEL(join_heads<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(exchange_blocks<float>);
ZG_REGISTER_CUDA_KERNEL(exchange_blocks<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
