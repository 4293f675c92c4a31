#include "kernels/element/gelu_element.hpp"
#include "kernels/element/swiglu_element.hpp"
#include "kernels/glu/swiglu.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/rows_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

using tensor::TensorRef;

template <class Form, class T>
void glu_row(const T* x, T* y, std::int64_t width) {
    const T* gate = x;
    const T* up = x + width;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        const float z = float(gate[c]);
        tensor::store(y[c], glu(z, Form::gate(z), float(up[c])));
    }
}

template <class Form, bool has_y, class T>
void glu_gradient_row(const T* x, const T* dy, T* dx, T* y, std::int64_t width) {
    const T* gate = x;
    const T* up = x + width;
    T* d_gate = dx;
    T* d_up = dx + width;
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        const float z = float(gate[c]);
        const float u = float(up[c]);
        const float d = float(dy[c]);
        const float s = Form::gate(z);
        tensor::store(d_up[c], glu_d_up(z, s, d));
        tensor::store(d_gate[c], glu_d_gate<Form>(z, s, u, d));
        if constexpr (has_y) {
            tensor::store(y[c], glu(z, s, u));
        }
    }
}

template <class Form, class T>
void glu_rows(const char* name, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    for_rows(name, y.extent(0),
             [=](std::int64_t row) { glu_row<Form>(x.row(row), y.row(row), y.extent(1)); });
}

template <class Form, class T>
void glu_gradient_rows(const char* name,
                       TensorRef<const T, 2> x,
                       TensorRef<const T, 2> dy,
                       TensorRef<T, 2> dx,
                       TensorRef<T, 2> y) {
    const auto width = x.extent(1) / 2;
    for_rows(name, dy.extent(0), [=](std::int64_t row) {
        if (y.empty()) {
            glu_gradient_row<Form, false, T>(x.row(row), dy.row(row), dx.row(row), nullptr, width);
        } else {
            glu_gradient_row<Form, true>(x.row(row), dy.row(row), dx.row(row), y.row(row), width);
        }
    });
}

}  // namespace

template <class T>
void swiglu_forward(const device::Stream&, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    glu_rows<Silu>("ziggurat::swiglu_forward", x, y);
}

template <class T>
void swiglu_backward(const device::Stream&,
                     TensorRef<const T, 2> x,
                     TensorRef<const T, 2> dy,
                     TensorRef<T, 2> dx,
                     TensorRef<T, 2> y) {
    glu_gradient_rows<Silu>("ziggurat::swiglu_backward", x, dy, dx, y);
}

template <class T>
void geglu_forward(const device::Stream&, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    glu_rows<TanhGelu>("ziggurat::geglu_forward", x, y);
}

template <class T>
void geglu_backward(const device::Stream&,
                    TensorRef<const T, 2> x,
                    TensorRef<const T, 2> dy,
                    TensorRef<T, 2> dx,
                    TensorRef<T, 2> y) {
    glu_gradient_rows<TanhGelu>("ziggurat::geglu_backward", x, dy, dx, y);
}

ZG_REGISTER_HOST_KERNEL(swiglu_forward<float>);
ZG_REGISTER_HOST_KERNEL(swiglu_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(swiglu_backward<float>);
ZG_REGISTER_HOST_KERNEL(swiglu_backward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(geglu_forward<float>);
ZG_REGISTER_HOST_KERNEL(geglu_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(geglu_backward<float>);
ZG_REGISTER_HOST_KERNEL(geglu_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
