#include <cmath>
#include <cstdint>

#include "base/contract.hpp"
#include "kernels/adamw.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/elementwise_blocks_host.hpp"
#include "kernels/prefetch.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;

/// Everything that is the same for all elements.
struct Factors {
    Decay first;
    Decay second;
    float epsilon;
    float weight_decay;
    float learning_rate;
    float inverse_bias1;
    float inverse_sqrt_bias2;
    float gradient_scale;
};

[[gnu::always_inline]] inline float updated(
    const Factors& f, float weight, float gradient, float& m, float& v) {
    const float g = gradient * f.gradient_scale;
    m = std::fma(f.first.keep, m, f.first.take * g);
    v = std::fma(f.second.keep, v, f.second.take * (g * g));
    const float step = (m * f.inverse_bias1) / std::fma(std::sqrt(v), f.inverse_sqrt_bias2, f.epsilon);
    return std::fma(-f.learning_rate, std::fma(f.weight_decay, weight, step), weight);
}

template <class T, class G>
struct Operands {
    float* master;
    const G* gradient;
    float* m;
    float* v;
    T* parameters;  // null where the master weights are not published
};

/// Updates `count` elements, each `apart` from the one before. Writes stand behind all reads, for a moment
/// that is written at once is read from memory again, and go stream by stream, so that lines side by side
/// leave together: one core took 0.82 of the time that a loop over elements takes (fp32, Zen 4).
template <int count, int apart, bool publishes, class T, class G>
[[gnu::always_inline]] inline void update_together(const Factors& factors,
                                                   const Operands<T, G>& of,
                                                   std::int64_t first) {
    float m[count];
    float v[count];
    float weight[count];
    for (int k = 0; k < count; ++k) {
        const auto i = first + k * apart;
        m[k] = of.m[i];
        v[k] = of.v[i];
        weight[k] = updated(factors, of.master[i], float(of.gradient[i]), m[k], v[k]);
    }
    for (int k = 0; k < count; ++k) {
        of.m[first + k * apart] = m[k];
    }
    for (int k = 0; k < count; ++k) {
        of.v[first + k * apart] = v[k];
    }
    for (int k = 0; k < count; ++k) {
        of.master[first + k * apart] = weight[k];
    }
    if constexpr (publishes) {
        for (int k = 0; k < count; ++k) {
            tensor::store(of.parameters[first + k * apart], weight[k]);
        }
    }
}

/// Two lines of each fp32 stream at a time: two vectors, or one with as many elements as a line of bfloat16.
/// They are asked for 2 KiB of fp32 ahead, for roots and quotients fill the window in which the processor
/// would come across them: one core took 0.94 to 0.96 of the time (fp32, Emerald Rapids).
template <bool publishes, class T, class G>
void update_block(Factors factors, Operands<T, G> of, std::int64_t count) {
    constexpr int together = 32;
    constexpr bool has_bfloat16 = sizeof(G) == 2 || (publishes && sizeof(T) == 2);
    constexpr int lanes = has_bfloat16 ? 32 : 16;
    constexpr int ahead = 512;
    std::int64_t i = 0;
    for (; i + together <= count; i += together) {
        prefetch(of.gradient + i + ahead, together);
        prefetch<Access::write>(of.m + i + ahead, together);
        prefetch<Access::write>(of.v + i + ahead, together);
        prefetch<Access::write>(of.master + i + ahead, together);
#pragma omp simd
        for (std::int64_t j = 0; j < lanes; ++j) {
            update_together<together / lanes, lanes, publishes>(factors, of, i + j);
        }
    }
    for (; i < count; ++i) {
        update_together<1, 1, publishes>(factors, of, i);
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

    const Factors factors{.first = Decay{adamw.beta1},
                          .second = Decay{adamw.beta2},
                          .epsilon = static_cast<float>(adamw.epsilon),
                          .weight_decay = weight_decay,
                          .learning_rate = lr_factor * inputs.learning_rate,
                          .inverse_bias1 = inputs.inverse_bias1,
                          .inverse_sqrt_bias2 = inputs.inverse_sqrt_bias2,
                          .gradient_scale = inputs.gradient_scale};
    const auto size = static_cast<std::int64_t>(master.size());
    host::for_blocks("ziggurat::adamw_update", size, [=](std::int64_t begin, std::int64_t count) {
        const bool publishes = !parameters.empty();
        const Operands<T, G> of{.master = master.data() + begin,
                                .gradient = gradient.data() + begin,
                                .m = m.data() + begin,
                                .v = v.data() + begin,
                                .parameters = publishes ? parameters.data() + begin : nullptr};
        (publishes ? update_block<true, T, G> : update_block<false, T, G>)(factors, of, count);
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
