#include "kernels/columns.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

/// Copies `width` columns between matrices with the given distances between rows.
template <class T>
__global__ void __launch_bounds__(256) move_columns(std::int64_t rows,
                                                    std::int64_t width,
                                                    bool is_aligned,
                                                    const T* from,
                                                    std::int64_t from_apart,
                                                    T* to,
                                                    std::int64_t to_apart) {
    const auto part = row_pack(width);
    if (part.row >= rows) {
        return;
    }
    float value[pack];
    load_some(from + part.row * from_apart + part.begin, part.count, is_aligned, value);
    store_some(to + part.row * to_apart + part.begin, part.count, is_aligned, value);
}

template <class T>
void move(const device::Stream& stream,
          const char* name,
          std::int64_t rows,
          std::int64_t width,
          const T* from,
          std::int64_t from_apart,
          T* to,
          std::int64_t to_apart) {
    const bool is_aligned =
        from_apart % pack == 0 && to_apart % pack == 0 && are_rows_aligned(width, from, to);
    launch_grid(stream, name, a_thread_each_pack(rows, width), move_columns<T>, rows, width, is_aligned, from,
                from_apart, to, to_apart);
}

/// Computes to += from for matrices with the given distances between rows.
template <class T>
__global__ void __launch_bounds__(256) sum_columns(
    std::int64_t rows, std::int64_t width, bool is_aligned, const T* from, T* to, std::int64_t to_apart) {
    const auto part = row_pack(width);
    if (part.row >= rows) {
        return;
    }
    T* const into = to + part.row * to_apart + part.begin;
    float value[pack];
    float more[pack];
    load_some(into, part.count, is_aligned, value);
    load_some(from + part.row * width + part.begin, part.count, is_aligned, more);
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        value[i] += more[i];
    }
    store_some(into, part.count, is_aligned, value);
}

}  // namespace

template <class T>
void take_columns(const device::Stream& stream,
                  TensorRef<const T, 2> from,
                  std::int64_t first,
                  TensorRef<T, 2> to) {
    move(stream, "take_columns", to.extent(0), to.extent(1), from.data + first, from.extent(1), to.data,
         to.extent(1));
}

template <class T>
void put_columns(const device::Stream& stream,
                 TensorRef<const T, 2> from,
                 std::int64_t first,
                 TensorRef<T, 2> to) {
    move(stream, "put_columns", from.extent(0), from.extent(1), from.data, from.extent(1), to.data + first,
         to.extent(1));
}

template <class T>
void add_columns(const device::Stream& stream,
                 TensorRef<const T, 2> from,
                 std::int64_t first,
                 TensorRef<T, 2> to) {
    const auto rows = from.extent(0), width = from.extent(1);
    T* const into = to.data + first;
    const bool is_aligned = to.extent(1) % pack == 0 && are_rows_aligned(width, from.data, into);
    launch_grid(stream, "add_columns", a_thread_each_pack(rows, width), sum_columns<T>, rows, width,
                is_aligned, from.data, into, to.extent(1));
}

ZG_REGISTER_CUDA_KERNEL(take_columns<float>);
ZG_REGISTER_CUDA_KERNEL(take_columns<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(put_columns<float>);
ZG_REGISTER_CUDA_KERNEL(put_columns<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(add_columns<float>);
ZG_REGISTER_CUDA_KERNEL(add_columns<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
