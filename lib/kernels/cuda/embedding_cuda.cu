#include "kernels/embedding.hpp"

#include "kernels/cuda/dropout_cuda.hpp"
#include "kernels/cuda/map_cuda.hpp"
#include "kernels/cuda/matches_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/cuda/sibling_cuda.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

using Indices = TensorRef<const std::int32_t, 1>;

/// A table, or some of its rows.
template <class T>
struct TablePart {
    const T* data;       ///< nullptr: there is none
    std::int64_t rows;   ///< that are here
    std::int64_t first;  ///< number of the first of them
    std::int64_t all;    ///< rows that may be asked for
};

template <class T>
TablePart<T> part_of(TensorRef<const T, 2> table, std::int64_t first, std::int64_t all) {
    return {table.empty() ? nullptr : table.data, table.extent(0), first, all};
}

/// The place of `index` in the part; -1 where it is not here.
template <class Table>
__device__ std::int64_t place_in(const Table& table, std::int64_t index) {
    if (index < 0 || index >= table.all) {
        __trap();
    }
    const auto place = index - table.first;
    return place >= 0 && place < table.rows ? place : -1;
}

struct Looked {
    std::int64_t rows, width;
    bool is_aligned;
};

/// to = (to, or what is looked up by tokens) + what is looked up by positions, then dropout.
template <class T>
__global__ void __launch_bounds__(256) look_up(Looked of,
                                               const std::int32_t* tokens,  // nullptr: `to` holds it
                                               TablePart<T> table,
                                               const std::int32_t* positions,
                                               TablePart<T> position_table,
                                               ReadableDropout dropout,
                                               T* to) {
    const auto part = row_pack(of.width);
    if (part.row >= of.rows) {
        return;
    }
    const auto at = part.row * of.width + part.begin;
    float value[pack] = {};
    bool is_there = true;
    if (tokens == nullptr) {
        load_some(static_cast<const T*>(to) + at, part.count, of.is_aligned, value);
    } else {
        const auto place = place_in(table, tokens[part.row]);
        is_there = place >= 0;
        if (is_there) {
            load_some(table.data + place * of.width + part.begin, part.count, of.is_aligned, value);
        }
    }
    if (position_table.data != nullptr) {
        const auto place = place_in(position_table, positions[part.row]);
        float more[pack];
        load_some(position_table.data + place * of.width + part.begin, part.count, of.is_aligned, more);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            T sum;  // rounded before dropout, as where rows of the table are looked up one after the other
            tensor::store(sum, is_there ? value[i] + more[i] : more[i]);
            value[i] = float(sum);
        }
    }
    const DropoutPacks dropped{dropout};
    if (dropped.drops()) {
        float factor[pack];
        dropped.factors(part.row, part.begin, factor);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            value[i] *= factor[i];
        }
    }
    store_some(to + at, part.count, of.is_aligned, value);
}

/// Rows of the table go to the rows of `to` that ask for them; the others stay.
template <class T>
__global__ void __launch_bounds__(256)
    look_up_some(Looked of, const std::int32_t* tokens, TablePart<T> table, T* to) {
    const auto part = row_pack(of.width);
    if (part.row >= of.rows) {
        return;
    }
    const auto place = tokens[part.row] - table.first;
    if (place < 0 || place >= table.rows) {
        return;
    }
    float value[pack];
    load_some(table.data + place * of.width + part.begin, part.count, of.is_aligned, value);
    store_some(to + part.row * of.width + part.begin, part.count, of.is_aligned, value);
}

/// Rows that are on their way to a warp that adds them.
constexpr int added_at_once = 8;
constexpr int most_scatter_warps = most_row_threads / warp_size;

/// The block of the first row that asks for an index adds all rows that do, in their order. Whether a row is
/// the first its warps look up together; then each adds columns of its own.
template <class T>
__global__ void __launch_bounds__(most_row_threads) scatter(Wanted wanted,
                                                            std::int64_t width,
                                                            bool is_aligned,
                                                            const T* d_out,
                                                            ReadableDropout dropout,
                                                            TablePart<float> table,
                                                            float scale,
                                                            float* d_table) {
    __shared__ bool is_later[most_scatter_warps];
    __shared__ int matches_of_warps[most_scatter_warps][looked_at];
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    const std::int64_t first_row = blockIdx.x;
    const auto index = wanted.indices[first_row];
    const auto place = place_in(table, index);
    if (place < 0) {
        return;
    }
    bool is_match = false;
    for (std::int64_t begin = warp * looked_at; begin < first_row && !is_match; begin += warps * looked_at) {
        bool asks[looks];
        is_match = wanted.look(begin, first_row, index, asks);
    }
    if (threadIdx.x % warp_size == 0) {
        is_later[warp] = is_match;
    }
    __syncthreads();
    for (int of = 0; of < warps; ++of) {
        if (is_later[of]) {
            return;
        }
    }

    auto& matches = matches_of_warps[warp];
    const DropoutPacks dropped{dropout};
    const std::int64_t lane = threadIdx.x % warp_size;
    for (auto columns = warp * warp_size * pack; columns < width; columns += warps * warp_size * pack) {
        const auto at = columns + lane * pack;
        const auto left = width - at;
        const int count = static_cast<int>(left < 0 ? 0 : (left < pack ? left : pack));
        const bool moves_lines = is_aligned && count > 0;
        float total[pack];
        load_some(static_cast<const float*>(d_table) + place * width + at, count, moves_lines, total);
        for (auto begin = first_row; begin < wanted.count; begin += looked_at) {
            const int found = list_matches(wanted, begin, index, matches);
            for (int first = 0; first < found; first += added_at_once) {
                float value[added_at_once][pack];
#pragma unroll
                for (int m = 0; m < added_at_once; ++m) {
                    if (first + m < found) {
                        load_some(d_out + (begin + matches[first + m]) * width + at, count, moves_lines,
                                  value[m]);
                    }
                }
#pragma unroll
                for (int m = 0; m < added_at_once; ++m) {
                    if (first + m < found) {
                        float factor[pack];
                        if (dropped.drops()) {
                            dropped.factors(begin + matches[first + m], at, factor);
                        }
#pragma unroll
                        for (int i = 0; i < pack; ++i) {
                            total[i] += scale * (dropped.drops() ? value[m][i] * factor[i] : value[m][i]);
                        }
                    }
                }
            }
        }
        store_some(d_table + place * width + at, count, moves_lines, total);
    }
}

template <class T>
void scatter_add(const device::Stream& stream,
                 Indices indices,
                 TensorRef<const T, 2> d_out,
                 const ReadableDropout& dropout,
                 TensorRef<float, 2> d_table,
                 std::int64_t first,
                 std::int64_t all,
                 Accumulate accumulate,
                 float scale) {
    const auto width = d_out.extent(1);
    if (accumulate == Accumulate::no) {
        map(stream, "embedding_backward", Zero{}, d_table.extent(0) * d_table.extent(1), d_table.data);
    }
    const TablePart<float> table{d_table.data, d_table.extent(0), first, all};
    launch_grid(stream, "embedding_backward", rows_grid(d_out.extent(0), width), scatter<T>,
                Wanted{indices.data, d_out.extent(0)}, width,
                are_rows_aligned(width, d_out.data, d_table.data), d_out.data, dropout, table, scale,
                d_table.data);
}

}  // namespace

template <class T>
void embedding_forward(const device::Stream& stream,
                       Indices tokens,
                       Indices positions,
                       TensorRef<const T, 2> table,
                       std::int64_t first,
                       std::int64_t vocab,
                       TensorRef<const T, 2> position_table,
                       const ReadableDropout& dropout,
                       TensorRef<T, 2> out) {
    const auto width = out.extent(1);
    const Looked of{out.extent(0), width, are_rows_aligned(width, table.data, position_table.data, out.data)};
    launch_grid(stream, "embedding_forward", a_thread_each_pack(of.rows, width), look_up<T>, of, tokens.data,
                part_of(table, first, vocab), positions.data,
                part_of(position_table, 0, position_table.extent(0)), dropout, out.data);
}

template <class T>
void embedding_backward(const device::Stream& stream,
                        Indices tokens,
                        Indices positions,
                        TensorRef<const T, 2> d_out,
                        const ReadableDropout& dropout,
                        TensorRef<float, 2> d_table,
                        std::int64_t first,
                        std::int64_t vocab,
                        Accumulate accumulate_table,
                        TensorRef<float, 2> d_position_table,
                        Accumulate accumulate_position_table,
                        float table_scale) {
    if (!d_table.empty()) {
        scatter_add(stream, tokens, d_out, dropout, d_table, first, vocab, accumulate_table, table_scale);
    }
    if (!d_position_table.empty()) {
        scatter_add(stream, positions, d_out, dropout, d_position_table, 0, d_position_table.extent(0),
                    accumulate_position_table, 1);
    }
}

template <class T>
void embedding_tile_forward(const device::Stream& stream,
                            Indices tokens,
                            TensorRef<const T, 2> table,
                            std::int64_t first,
                            TensorRef<T, 2> out) {
    const auto width = out.extent(1);
    const Looked of{out.extent(0), width, are_rows_aligned(width, table.data, out.data)};
    launch_grid(stream, "embedding_tile_forward", a_thread_each_pack(of.rows, width), look_up_some<T>, of,
                tokens.data, part_of(table, first, 0), out.data);
}

template <class T>
void embedding_positions_forward(const device::Stream& stream,
                                 Indices positions,
                                 TensorRef<const T, 2> position_table,
                                 const ReadableDropout& dropout,
                                 TensorRef<T, 2> out) {
    const auto width = out.extent(1);
    const Looked of{out.extent(0), width, are_rows_aligned(width, position_table.data, out.data)};
    launch_grid(stream, "embedding_positions_forward", a_thread_each_pack(of.rows, width), look_up<T>, of,
                static_cast<const std::int32_t*>(nullptr), TablePart<T>{}, positions.data,
                part_of(position_table, 0, position_table.extent(0)), dropout, out.data);
}

template <class T>
void embedding_tile_backward(const device::Stream& stream,
                             Indices indices,
                             std::int64_t first,
                             TensorRef<const T, 2> d_out,
                             const ReadableDropout& dropout,
                             TensorRef<float, 2> d_table,
                             Accumulate accumulate,
                             float scale) {
    scatter_add(stream, indices, d_out, dropout, d_table, first, INT64_MAX, accumulate, scale);
}

ZG_CUDA_SIBLING(embedding_forward<float>);
ZG_CUDA_SIBLING(embedding_forward<tensor::bfloat16>);
ZG_CUDA_SIBLING(embedding_backward<float>);
ZG_CUDA_SIBLING(embedding_backward<tensor::bfloat16>);
ZG_CUDA_SIBLING(embedding_tile_forward<float>);
ZG_CUDA_SIBLING(embedding_tile_forward<tensor::bfloat16>);
ZG_CUDA_SIBLING(embedding_positions_forward<float>);
ZG_CUDA_SIBLING(embedding_positions_forward<tensor::bfloat16>);
ZG_CUDA_SIBLING(embedding_tile_backward<float>);
ZG_CUDA_SIBLING(embedding_tile_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
