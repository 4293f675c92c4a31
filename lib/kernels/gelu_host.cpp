#include <cmath>

#include "base/contract.hpp"
#include "kernels/gelu.hpp"
#include "kernels/rows_host.hpp"
#include "kernels/vector_math.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;
using tensor::TensorRef;

constexpr float linear = 1.59576912161f;   // 2 sqrt(2 / pi)
constexpr float cubic = 0.0713548162726f;  // 0.044715 of it
constexpr float one_over_sqrt_2 = 0.70710678f;
constexpr float one_over_sqrt_2_pi = 0.39894228f;

/// 1/2 (1 + tanh(z)) is the sigmoid of 2 z: one exponential and one division.
[[gnu::always_inline]] inline float gate(float x) {
    return sigmoid_base2(x * std::fma(x * x, cubic * log2_of_e, linear * log2_of_e));
}

struct TanhForm {
    [[gnu::always_inline]] static float gate_of(float x) { return gate(x); }

    [[gnu::always_inline]] static float derivative(float x) {
        const float s = gate(x);
        return std::fma(x * s * (1.0f - s), std::fma(x * x, 3 * cubic, linear), s);
    }
};

/// The gate is the normal distribution function, its slope the density.
struct ErfForm {
    [[gnu::always_inline]] static float gate_of(float x) {
        return std::fma(0.5f, error_function(x * one_over_sqrt_2), 0.5f);
    }

    [[gnu::always_inline]] static float derivative(float x) {
        const float density = one_over_sqrt_2_pi * exp2_not_large(x * x * (-0.5f * log2_of_e));
        return std::fma(x, density, gate_of(x));
    }
};

template <class Form, class T>
void forward_row(const T* x, T* y, std::int64_t width) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        tensor::store(y[c], float(x[c]) * Form::gate_of(float(x[c])));
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
void forward(const char* name, const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    ZG_EXPECTS(stream.space() == device::MemorySpace::host);
    ZG_EXPECTS(y.extents == x.extents);
    host::for_rows(name, x.extent(0),
                   [=](std::int64_t row) { forward_row<Form>(x.row(row), y.row(row), x.extent(1)); });
}

template <class Form, class T>
void backward(const char* name, const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> dy) {
    ZG_EXPECTS(stream.space() == device::MemorySpace::host);
    ZG_EXPECTS(dy.extents == x.extents);
    host::for_rows(name, x.extent(0),
                   [=](std::int64_t row) { backward_row<Form>(x.row(row), dy.row(row), x.extent(1)); });
}

}  // namespace

template <class T>
void gelu_forward(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    forward<TanhForm>("ziggurat::gelu_forward", stream, x, y);
}

template <class T>
void gelu_backward(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> dy) {
    backward<TanhForm>("ziggurat::gelu_backward", stream, x, dy);
}

template <class T>
void gelu_erf_forward(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    forward<ErfForm>("ziggurat::gelu_erf_forward", stream, x, y);
}

template <class T>
void gelu_erf_backward(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> dy) {
    backward<ErfForm>("ziggurat::gelu_erf_backward", stream, x, dy);
}

template decltype(gelu_forward<float>) gelu_forward<float>;
template decltype(gelu_forward<bfloat16>) gelu_forward<bfloat16>;
template decltype(gelu_backward<float>) gelu_backward<float>;
template decltype(gelu_backward<bfloat16>) gelu_backward<bfloat16>;
template decltype(gelu_erf_forward<float>) gelu_erf_forward<float>;
template decltype(gelu_erf_forward<bfloat16>) gelu_erf_forward<bfloat16>;
template decltype(gelu_erf_backward<float>) gelu_erf_backward<float>;
template decltype(gelu_erf_backward<bfloat16>) gelu_erf_backward<bfloat16>;

}  // namespace ziggurat::kernels
