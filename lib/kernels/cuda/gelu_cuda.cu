#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/map_cuda.hpp"
#include "kernels/element/gelu_element.hpp"
#include "kernels/gelu.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

template <class Form>
struct Gated {
    __device__ float operator()(float x) const { return x * Form::gate(x); }
};

template <class Form>
struct Derived {
    __device__ float operator()(float dy, float x) const { return dy * Form::derivative(x); }
};

template <class Form, class T>
void forward(const device::Stream& stream, const char* name, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    map(stream, name, Gated<Form>{}, x.extent(0) * x.extent(1), y.data, x.data);
}

template <class Form, class T>
void backward(const device::Stream& stream, const char* name, TensorRef<const T, 2> x, TensorRef<T, 2> dy) {
    map(stream, name, Derived<Form>{}, x.extent(0) * x.extent(1), dy.data, static_cast<const T*>(dy.data),
        x.data);
}

}  // namespace

template <class T>
void gelu_forward(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    forward<TanhGelu>(stream, "gelu_forward", x, y);
}

template <class T>
void gelu_backward(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> dy) {
    backward<TanhGelu>(stream, "gelu_backward", x, dy);
}

template <class T>
void gelu_erf_forward(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    forward<ErfGelu>(stream, "gelu_erf_forward", x, y);
}

template <class T>
void gelu_erf_backward(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> dy) {
    backward<ErfGelu>(stream, "gelu_erf_backward", x, dy);
}

ZG_REGISTER_CUDA_KERNEL(gelu_forward<float>);
ZG_REGISTER_CUDA_KERNEL(gelu_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(gelu_backward<float>);
ZG_REGISTER_CUDA_KERNEL(gelu_backward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(gelu_erf_forward<float>);
ZG_REGISTER_CUDA_KERNEL(gelu_erf_forward<tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(gelu_erf_backward<float>);
ZG_REGISTER_CUDA_KERNEL(gelu_erf_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
