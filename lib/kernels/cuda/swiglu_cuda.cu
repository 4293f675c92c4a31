#include "kernels/cuda/swiglu_cuda.hpp"

#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/element/gelu_element.hpp"
#include "kernels/element/swiglu_element.hpp"
#include "kernels/glu/swiglu.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

template <class Form, class T>
__global__ void __launch_bounds__(256)
    forward(std::int64_t rows, std::int64_t width, bool is_aligned, const T* x, T* y) {
    const auto part = row_pack(width);
    if (part.row >= rows) {
        return;
    }
    const T* const gates = x + part.row * 2 * width + part.begin;
    float gate[pack], up[pack];
    load_some(gates, part.count, is_aligned, gate);
    load_some(gates + width, part.count, is_aligned, up);
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        gate[i] = glu(gate[i], Form::gate(gate[i]), up[i]);
    }
    store_some(y + part.row * width + part.begin, part.count, is_aligned, gate);
}

template <class Form, bool has_y, bool is_in_gates, class T>
__global__ void __launch_bounds__(256)
    backward(std::int64_t rows, std::int64_t width, bool is_aligned, const T* x, const T* dy, T* dx, T* y) {
    const auto part = row_pack(width);
    if (part.row >= rows) {
        return;
    }
    const auto at = part.row * 2 * width + part.begin;
    float gate[pack], up[pack], d[pack];
    load_some(x + at, part.count, is_aligned, gate);
    load_some(x + at + width, part.count, is_aligned, up);
    load_some(dy + (is_in_gates ? at : part.row * width + part.begin), part.count, is_aligned, d);
    float d_gate[pack];
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        const float s = Form::gate(gate[i]);
        const float d_up = glu_d_up(gate[i], s, d[i]);
        d_gate[i] = glu_d_gate<Form>(gate[i], s, up[i], d[i]);
        if constexpr (has_y) {
            d[i] = glu(gate[i], s, up[i]);
        }
        up[i] = d_up;
    }
    store_some(dx + at, part.count, is_aligned, d_gate);
    store_some(dx + at + width, part.count, is_aligned, up);
    if constexpr (has_y) {
        store_some(y + part.row * width + part.begin, part.count, is_aligned, d);
    }
}

template <class Form, class T>
void launch_forward(const device::Stream& stream,
                    const char* name,
                    TensorRef<const T, 2> x,
                    TensorRef<T, 2> y) {
    const auto rows = y.extent(0);
    const auto width = y.extent(1);
    launch_grid(stream, name, a_thread_each_pack(rows, width), forward<Form, T>, rows, width,
                are_rows_aligned(width, x.data, y.data), x.data, y.data);
}

template <class Form, class T>
void launch_backward(const device::Stream& stream,
                     const char* name,
                     TensorRef<const T, 2> x,
                     TensorRef<const T, 2> dy,
                     TensorRef<T, 2> dx,
                     TensorRef<T, 2> y) {
    const auto rows = dy.extent(0);
    const auto width = x.extent(1) / 2;
    const bool is_in_gates = dy.extent(1) != width;
    const auto kernel = is_in_gates ? backward<Form, false, true, T>
                        : y.empty() ? backward<Form, false, false, T>
                                    : backward<Form, true, false, T>;
    launch_grid(stream, name, a_thread_each_pack(rows, width), kernel, rows, width,
                are_rows_aligned(width, x.data, dy.data, dx.data, y.data), x.data, dy.data, dx.data, y.data);
}

}  // namespace

template <class T>
void swiglu_forward(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    launch_forward<Silu>(stream, "swiglu_forward", x, y);
}

template <class T>
void swiglu_backward(const device::Stream& stream,
                     TensorRef<const T, 2> x,
                     TensorRef<const T, 2> dy,
                     TensorRef<T, 2> dx,
                     TensorRef<T, 2> y) {
    launch_backward<Silu>(stream, "swiglu_backward", x, dy, dx, y);
}

template <class T>
void geglu_forward(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    launch_forward<TanhGelu>(stream, "geglu_forward", x, y);
}

template <class T>
void geglu_backward(const device::Stream& stream,
                    TensorRef<const T, 2> x,
                    TensorRef<const T, 2> dy,
                    TensorRef<T, 2> dx,
                    TensorRef<T, 2> y) {
    launch_backward<TanhGelu>(stream, "geglu_backward", x, dy, dx, y);
}

template decltype(swiglu_backward<tensor::bfloat16>) swiglu_backward<tensor::bfloat16>;
template decltype(geglu_backward<tensor::bfloat16>) geglu_backward<tensor::bfloat16>;

ZG_REGISTER_CUDA_KERNEL(swiglu_forward<float>);
ZG_REGISTER_CUDA_KERNEL(swiglu_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(swiglu_backward<float>);
ZG_REGISTER_CUDA_KERNEL(swiglu_backward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(geglu_forward<float>);
ZG_REGISTER_CUDA_KERNEL(geglu_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(geglu_backward<float>);
ZG_REGISTER_CUDA_KERNEL(geglu_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
