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

/// 1/2 (1 + tanh(z)) is the sigmoid of 2 z: one exponential and one division.
[[gnu::always_inline]] inline float gate(float x) {
    return sigmoid_base2(x * std::fma(x * x, cubic * log2_of_e, linear * log2_of_e));
}

[[gnu::always_inline]] inline float derivative(float x) {
    const float s = gate(x);
    return std::fma(x * s * (1.0f - s), std::fma(x * x, 3 * cubic, linear), s);
}

template <class T>
void forward_row(const T* x, T* y, std::int64_t width) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        tensor::store(y[c], float(x[c]) * gate(float(x[c])));
    }
}

template <class T>
void backward_row(const T* x, T* dy, std::int64_t width) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        tensor::store(dy[c], float(dy[c]) * derivative(float(x[c])));
    }
}

}  // namespace

template <class T>
void gelu_forward(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> y) {
    ZG_EXPECTS(stream.space() == device::MemorySpace::host);
    ZG_EXPECTS(y.extents == x.extents);
    host::for_rows("ziggurat::gelu_forward", x.extent(0),
                   [=](std::int64_t row) { forward_row(x.row(row), y.row(row), x.extent(1)); });
}

template <class T>
void gelu_backward(const device::Stream& stream, TensorRef<const T, 2> x, TensorRef<T, 2> dy) {
    ZG_EXPECTS(stream.space() == device::MemorySpace::host);
    ZG_EXPECTS(dy.extents == x.extents);
    host::for_rows("ziggurat::gelu_backward", x.extent(0),
                   [=](std::int64_t row) { backward_row(x.row(row), dy.row(row), x.extent(1)); });
}

template decltype(gelu_forward<float>) gelu_forward<float>;
template decltype(gelu_forward<bfloat16>) gelu_forward<bfloat16>;
template decltype(gelu_backward<float>) gelu_backward<float>;
template decltype(gelu_backward<bfloat16>) gelu_backward<bfloat16>;

}  // namespace ziggurat::kernels
