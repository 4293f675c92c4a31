// Arithmetic of single elements as GPU code. A kernel here calls each header that is marked by ZG_ELEMENT:
// unmarked functions that they call do not compile.
#include "base/element.hpp"
#include "base/exact_sum.hpp"
#include "base/philox.hpp"
#include "kernels/element/adamw_element.hpp"
#include "kernels/element/cross_entropy_element.hpp"
#include "kernels/element/dropout.hpp"
#include "kernels/element/gelu_element.hpp"
#include "kernels/element/preference_element.hpp"
#include "kernels/element/rope_element.hpp"
#include "kernels/element/softcap.hpp"
#include "kernels/element/swiglu_element.hpp"
#include "kernels/element/vector_math.hpp"
#include "layout/context/context_heads.hpp"
#include "layout/context/context_rows.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {

__global__ void numbers(const float* x, float* y, tensor::bfloat16* narrow, ExactSum* sum) {
    const auto i = threadIdx.x;
    tensor::store(narrow[i], x[i]);
    y[i] = float(narrow[i]) + exp2_in_range(x[i]) + exp2_not_large(x[i]) + sigmoid_base2(x[i]) +
           sigmoid(x[i]) + error_function(x[i]);
    const auto words = Philox4x32::generate({i, 1, 2, 3}, {4, 5});
    y[i] += uniform(words[0]);
    sum[i].add(static_cast<double>(x[i]));
    ExactSum other;
    other.add(1.0);
    sum[i].merge(other);
    y[i] += sum[i].is_finite() ? static_cast<float>(sum[i].limbs()[0]) : 0.0f;
}

__global__ void update(AdamW adamw, const StepInputs* inputs, const float* g, float* m, float* v, float* w) {
    const auto i = threadIdx.x;
    const AdamWFactors factors{adamw, 0.1f, 1.0f, *inputs};
    w[1] = averaged(*inputs, w[1], w[0]);
    w[i] = updated(factors, w[i], g[i], m[i], v[i]);
}

__global__ void drop(DropoutView dropout, float* x) {
    const DropoutMask mask{dropout};
    const auto i = threadIdx.x;
    if (mask.drops()) {
        float factors[4];
        mask.factors(i, 0, static_cast<std::uint64_t>(dropout.samples[0]), factors);
        x[i] *= factors[0] * mask.factor(mask.words(i, 1, 2, 3)[1]);
    }
}

__global__ void activations(const float* x, const float* dy, float* y) {
    const auto i = threadIdx.x;
    const float s = sigmoid(x[i]);
    y[i] = TanhGelu::gate(x[i]) + TanhGelu::derivative(x[i]) + ErfGelu::gate(x[i]) +
           ErfGelu::derivative(x[i]) + glu(x[i], Silu::gate(x[i]), dy[i]) +
           glu(x[i], TanhGelu::gate(x[i]), dy[i]) + glu_d_up(x[i], s, dy[i]) +
           glu_d_gate<Silu>(x[i], s, dy[i], dy[i]) + glu_d_gate<TanhGelu>(x[i], s, dy[i], dy[i]) +
           turned_first(x[i], dy[i], 0.6f, 0.8f) + turned_second(x[i], dy[i], 0.6f, 0.8f);
}

__global__ void heads(layout::ContextHeads of, std::int64_t* columns) {
    const auto i = threadIdx.x;
    const auto key = layout::head_columns(of, i, 1);
    columns[i] = key.in_part + key.in_row + key.width + of.width() + of.part_width();
}

__global__ void positions(layout::ContextRows rows, std::int64_t* to) {
    to[threadIdx.x] = rows.position(threadIdx.x);
}

__global__ void softcaps(const float* x, float* y) {
    const auto i = threadIdx.x;
    const auto reader = SoftcapReader::of(0.5f, x[0]);
    const float value = reader.read(x[i]);
    y[i] = value * reader.slope + reader.derivative(value) + hyperbolic_tangent(x[i]) +
           transformed({0.5f, 3.0f}, x[i]);
}

__global__ void preferences(const float* x, float* y) {
    const auto i = threadIdx.x;
    const AnswerLoss loss{x[i], 3};
    const auto made = preference_of({.is_ipo = i % 2 == 0, .beta = 0.5f}, loss, loss, {x[0], x[1]});
    y[i] = made.result.loss + made.chosen_weight + made.rejected_weight +
           static_cast<float>(softplus(x[i]) + sigmoid(x[i]));
}

__global__ void losses(const float* x, float* y) {
    const auto i = threadIdx.x;
    const LogitReader<true> reader{{.factor = 0.5f, .cap = 3.0f}};
    const float slope = reader.slope();
    LossStatistics kept = no_columns;
    const float before = kept.top;
    const float value = reader.read(x[i]);
    kept.top = reader.exponent(x[i]);
    add_powers(kept, before, relative_power(value, slope, kept.top));
    const float of_all = log2_sum(kept);
    y[i] = reader.through_cap(target_gradient(loss_of(value * slope, of_all), 0.5f), value) +
           relative_power(value, slope, gradient_pivot(of_all, 0.5f));
}

}  // namespace ziggurat::kernels
