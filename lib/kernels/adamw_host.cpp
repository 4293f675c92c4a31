#include <cmath>
#include <cstdint>

#include "base/contract.hpp"
#include "kernels/adamw.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/elementwise_blocks_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;

/// Everything that is the same for all elements.
struct Factors {
    float beta1;
    float beta2;
    float epsilon;
    float weight_decay;
    float learning_rate;
    float inverse_bias1;
    float inverse_sqrt_bias2;
    float gradient_scale;
};

/// The new master weight. `m` and `v` should be local variables: written to memory in the middle of a loop, a
/// moment is read from there again.
[[gnu::always_inline]] inline float updated(
    const Factors& f, float weight, float gradient, float& m, float& v) {
    const float g = gradient * f.gradient_scale;
    const float square = g * g;
    m = std::fma(f.beta1, m - g, g);
    v = std::fma(f.beta2, v - square, square);
    const float step = (m * f.inverse_bias1) / std::fma(std::sqrt(v), f.inverse_sqrt_bias2, f.epsilon);
    return std::fma(-f.learning_rate, std::fma(f.weight_decay, weight, step), weight);
}

template <class G>
void update_block(Factors factors, float* master, const G* gradient, float* m, float* v, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        float first = m[i];
        float second = v[i];
        const float weight = updated(factors, master[i], float(gradient[i]), first, second);
        m[i] = first;
        v[i] = second;
        master[i] = weight;
    }
}

template <class T, class G>
void update_and_publish_block(Factors factors,
                              float* master,
                              const G* gradient,
                              float* m,
                              float* v,
                              T* parameters,
                              std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        float first = m[i];
        float second = v[i];
        const float weight = updated(factors, master[i], float(gradient[i]), first, second);
        m[i] = first;
        v[i] = second;
        master[i] = weight;
        tensor::store(parameters[i], weight);
    }
}

template <class T, class G>
void update(const device::Stream& stream,
            const AdamW& adamw,
            float weight_decay,
            float lr_factor,
            const StepInputs& inputs,
            std::span<float> master,
            std::span<const G> gradient,
            std::span<float> m,
            std::span<float> v,
            std::span<T> parameters) {
    ZG_EXPECTS(stream.space() == device::MemorySpace::host);
    ZG_EXPECTS(gradient.size() == master.size() && m.size() == master.size() && v.size() == master.size());
    ZG_EXPECTS(parameters.empty() || parameters.size() == master.size());
    if (inputs.skip != 0) {
        // The memory that they are published from may be new in each step.
        if (!parameters.empty()) {
            convert(stream, std::span<const float>{master}, parameters);
        }
        return;
    }

    const Factors factors{.beta1 = adamw.beta1,
                          .beta2 = adamw.beta2,
                          .epsilon = adamw.epsilon,
                          .weight_decay = weight_decay,
                          .learning_rate = lr_factor * inputs.learning_rate,
                          .inverse_bias1 = inputs.inverse_bias1,
                          .inverse_sqrt_bias2 = inputs.inverse_sqrt_bias2,
                          .gradient_scale = inputs.gradient_scale};
    const auto size = static_cast<std::int64_t>(master.size());
    host::for_blocks("ziggurat::adamw_update", size, [=](std::int64_t begin, std::int64_t count) {
        float* p = master.data() + begin;
        const G* g = gradient.data() + begin;
        if (parameters.empty()) {
            update_block(factors, p, g, m.data() + begin, v.data() + begin, count);
        } else {
            update_and_publish_block(factors, p, g, m.data() + begin, v.data() + begin,
                                     parameters.data() + begin, count);
        }
    });
}

}  // namespace

template <class T>
void adamw_update(const device::Stream& stream,
                  const AdamW& adamw,
                  float weight_decay,
                  float lr_factor,
                  const StepInputs& inputs,
                  std::span<float> master,
                  std::span<const float> gradient,
                  std::span<float> m,
                  std::span<float> v,
                  std::span<T> parameters) {
    update(stream, adamw, weight_decay, lr_factor, inputs, master, gradient, m, v, parameters);
}

template <class T>
void adamw_update(const device::Stream& stream,
                  const AdamW& adamw,
                  float weight_decay,
                  float lr_factor,
                  const StepInputs& inputs,
                  std::span<float> master,
                  std::span<const bfloat16> gradient,
                  std::span<float> m,
                  std::span<float> v,
                  std::span<T> parameters) {
    update(stream, adamw, weight_decay, lr_factor, inputs, master, gradient, m, v, parameters);
}

template void adamw_update(const device::Stream&,
                           const AdamW&,
                           float,
                           float,
                           const StepInputs&,
                           std::span<float>,
                           std::span<const float>,
                           std::span<float>,
                           std::span<float>,
                           std::span<float>);
template void adamw_update(const device::Stream&,
                           const AdamW&,
                           float,
                           float,
                           const StepInputs&,
                           std::span<float>,
                           std::span<const bfloat16>,
                           std::span<float>,
                           std::span<float>,
                           std::span<float>);
template void adamw_update(const device::Stream&,
                           const AdamW&,
                           float,
                           float,
                           const StepInputs&,
                           std::span<float>,
                           std::span<const float>,
                           std::span<float>,
                           std::span<float>,
                           std::span<bfloat16>);
template void adamw_update(const device::Stream&,
                           const AdamW&,
                           float,
                           float,
                           const StepInputs&,
                           std::span<float>,
                           std::span<const bfloat16>,
                           std::span<float>,
                           std::span<float>,
                           std::span<bfloat16>);

}  // namespace ziggurat::kernels
