#include "kernels/cuda/dropout_cuda.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/residual.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

template <bool is_shifted, class T>
__global__ void __launch_bounds__(256) add_branch(DropoutView dropout,
                                                  std::int64_t rows,
                                                  std::int64_t width,
                                                  bool is_aligned,
                                                  const T* x,
                                                  const T* branch,
                                                  T* y) {
    const auto part = row_pack(width);
    if (part.row >= rows) {
        return;
    }
    const DropoutPacks<is_shifted> dropped{dropout};
    const auto at = part.row * width + part.begin;
    float a[pack], b[pack];
    load_some(x + at, part.count, is_aligned, a);
    load_some(branch + at, part.count, is_aligned, b);
    if (dropped.drops()) {
        float factor[pack];
        dropped.factors(part.row, part.begin, factor);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            a[i] = std::fma(b[i], factor[i], a[i]);
        }
    } else {
        const float scale = dropped.scale();  // with 1, the fused sum has the bits of a plain one
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            a[i] = std::fma(b[i], scale, a[i]);
        }
    }
    store_some(y + at, part.count, is_aligned, a);
}

template <bool is_shifted, class T>
__global__ void __launch_bounds__(256)
    drop(DropoutView dropout, std::int64_t rows, std::int64_t width, bool is_aligned, const T* from, T* to) {
    const auto part = row_pack(width);
    if (part.row >= rows) {
        return;
    }
    const DropoutPacks<is_shifted> dropped{dropout};
    const auto at = part.row * width + part.begin;
    float value[pack];
    load_some(from + at, part.count, is_aligned, value);
    if (dropped.drops()) {
        float factor[pack];
        dropped.factors(part.row, part.begin, factor);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            value[i] *= factor[i];
        }
    } else {
        const float scale = dropped.scale();
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            value[i] *= scale;
        }
    }
    store_some(to + at, part.count, is_aligned, value);
}

}  // namespace

template <class T>
void residual_forward(const device::Stream& stream,
                      TensorRef<const T, 2> x,
                      TensorRef<const T, 2> branch,
                      const DropoutView& dropout,
                      TensorRef<T, 2> y) {
    const auto rows = x.extent(0);
    const auto width = x.extent(1);
    launch_with_packs(dropout, [&](auto is_shifted) {
        launch_grid(stream, "residual_forward", a_thread_each_pack(rows, width), add_branch<is_shifted, T>,
                    dropout, rows, width, are_rows_aligned(width, x.data, branch.data, y.data), x.data,
                    branch.data, y.data);
    });
}

template <class T>
void dropout_backward(const device::Stream& stream,
                      TensorRef<const T, 2> dy,
                      const DropoutView& dropout,
                      TensorRef<T, 2> dx) {
    const auto rows = dy.extent(0);
    const auto width = dy.extent(1);
    launch_with_packs(dropout, [&](auto is_shifted) {
        launch_grid(stream, "dropout_backward", a_thread_each_pack(rows, width), drop<is_shifted, T>, dropout,
                    rows, width, are_rows_aligned(width, dy.data, dx.data), dy.data, dx.data);
    });
}

ZG_REGISTER_CUDA_KERNEL(residual_forward<float>);
ZG_REGISTER_CUDA_KERNEL(residual_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(dropout_backward<float>);
ZG_REGISTER_CUDA_KERNEL(dropout_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
