#include "kernels/element/gelu_element.hpp"
#include "kernels/gelu.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/rows_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

using tensor::TensorRef;

template <class Form, class T>
void forward_row(const T* x, T* y, std::int64_t width) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        tensor::store(y[c], float(x[c]) * Form::gate(float(x[c])));
    }
}

template <class Form, class T>
void backward_row(const T* x, T* dy, std::int64_t width) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        tensor::store(dy[c], float(dy[c]) * Form::derivative(float(x[c])));
    }
}

template <class Form, class T>
void forward(const char* name, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    for_rows(name, x.extent(0),
             [=](std::int64_t row) { forward_row<Form>(x.row(row), y.row(row), x.extent(1)); });
}

template <class Form, class T>
void backward(const char* name, TensorRef<const T, 2> x, TensorRef<T, 2> dy) {
    for_rows(name, x.extent(0),
             [=](std::int64_t row) { backward_row<Form>(x.row(row), dy.row(row), x.extent(1)); });
}

}  // namespace

template <class T>
void gelu_forward(const device::Stream&, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    forward<TanhGelu>("ziggurat::gelu_forward", x, y);
}

template <class T>
void gelu_backward(const device::Stream&, TensorRef<const T, 2> x, TensorRef<T, 2> dy) {
    backward<TanhGelu>("ziggurat::gelu_backward", x, dy);
}

template <class T>
void gelu_erf_forward(const device::Stream&, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    forward<ErfGelu>("ziggurat::gelu_erf_forward", x, y);
}

template <class T>
void gelu_erf_backward(const device::Stream&, TensorRef<const T, 2> x, TensorRef<T, 2> dy) {
    backward<ErfGelu>("ziggurat::gelu_erf_backward", x, dy);
}

ZG_REGISTER_HOST_KERNEL(gelu_forward<float>);
ZG_REGISTER_HOST_KERNEL(gelu_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(gelu_backward<float>);
ZG_REGISTER_HOST_KERNEL(gelu_backward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(gelu_erf_forward<float>);
ZG_REGISTER_HOST_KERNEL(gelu_erf_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(gelu_erf_backward<float>);
ZG_REGISTER_HOST_KERNEL(gelu_erf_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
