#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/contract.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/rows_host.hpp"
#include "kernels/vector_math.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;
using tensor::TensorRef;

template <class T>
float largest(const T* x, std::int64_t count, float start) {
    float top = start;
#pragma omp simd reduction(max : top)
    for (std::int64_t i = 0; i < count; ++i) {
        top = std::max(top, float(x[i]));
    }
    return top;
}

template <class T>
float sum_of_exponentials(const T* x, std::int64_t count, float shift) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) {
        sum += exponential(float(x[i]) - shift);
    }
    return sum;
}

/// log(sum(exp(x))). One sweep over memory: a block stays in the first cache between its maximum and its sum.
template <class T>
float log_sum_exp(const T* x, std::int64_t count) {
    constexpr std::int64_t block = 1024;
    float top = -1e30f;
    float sum = 0;
    for (std::int64_t first = 0; first < count; first += block) {
        const auto n = std::min(block, count - first);
        const float before = top;
        top = largest(x + first, n, before);
        sum = std::fma(sum, exponential(before - top), sum_of_exponentials(x + first, n, top));
    }
    return top + std::log(sum);
}

/// x = scale * (softmax(x) - onehot(target)) for the vocabulary, 0 for the padding.
template <class T>
void gradient_row(
    T* x, std::int64_t vocab, std::int64_t padded, std::int64_t target, float log_sum, float scale) {
    const float at_target = float(x[target]);
    const float shift = log_sum - std::log(scale);
#pragma omp simd
    for (std::int64_t i = 0; i < vocab; ++i) {
        x[i] = T(exponential(float(x[i]) - shift));
    }
    x[target] = T(std::expm1(at_target - log_sum) * scale);
    std::fill(x + vocab, x + padded, T(0.0f));
}

bool is_counted(TensorRef<const std::uint8_t, 1> mask, std::int64_t row) {
    return mask.empty() || mask.data[row] != 0;
}

void check_arguments(TensorRef<const std::int32_t, 1> targets,
                     std::int64_t vocab,
                     TensorRef<const std::uint8_t, 1> mask,
                     std::int64_t rows,
                     std::int64_t padded) {
    ZG_EXPECTS(vocab > 0 && vocab <= padded);
    ZG_EXPECTS(targets.extent(0) == rows);
    ZG_EXPECTS(mask.empty() || mask.extent(0) == rows);
    for (std::int64_t row = 0; row < rows; ++row) {
        ZG_EXPECTS(!is_counted(mask, row) || (targets.data[row] >= 0 && targets.data[row] < vocab));
    }
}

}  // namespace

template <class T>
void cross_entropy(const device::Stream& stream,
                   TensorRef<T, 2> logits,
                   std::int64_t vocab,
                   TensorRef<const std::int32_t, 1> targets,
                   TensorRef<const std::uint8_t, 1> mask,
                   const StepInputs& inputs,
                   TensorRef<float, 1> losses) {
    ZG_EXPECTS(stream.space() == device::MemorySpace::host);
    ZG_EXPECTS(losses.extent(0) == logits.extent(0));
    ZG_EXPECTS(inputs.loss_scale > 0);
    check_arguments(targets, vocab, mask, logits.extent(0), logits.extent(1));

    const float scale = inputs.loss_scale;
    host::for_rows("ziggurat::cross_entropy", logits.extent(0), [=](std::int64_t row) {
        T* x = logits.row(row);
        if (!is_counted(mask, row)) {
            std::fill_n(x, logits.extent(1), T(0.0f));
            losses.data[row] = 0;
            return;
        }
        const float log_sum = log_sum_exp<T>(x, vocab);
        losses.data[row] = log_sum - float(x[targets.data[row]]);
        gradient_row(x, vocab, logits.extent(1), targets.data[row], log_sum, scale);
    });
}

template <class T>
void cross_entropy_loss_only(const device::Stream& stream,
                             TensorRef<const T, 2> logits,
                             std::int64_t vocab,
                             TensorRef<const std::int32_t, 1> targets,
                             TensorRef<const std::uint8_t, 1> mask,
                             TensorRef<float, 1> losses) {
    ZG_EXPECTS(stream.space() == device::MemorySpace::host);
    ZG_EXPECTS(losses.extent(0) == logits.extent(0));
    check_arguments(targets, vocab, mask, logits.extent(0), logits.extent(1));

    host::for_rows("ziggurat::cross_entropy_loss_only", logits.extent(0), [=](std::int64_t row) {
        const T* x = logits.row(row);
        losses.data[row] = is_counted(mask, row) ? log_sum_exp(x, vocab) - float(x[targets.data[row]]) : 0.0f;
    });
}

template decltype(cross_entropy<float>) cross_entropy<float>;
template decltype(cross_entropy<bfloat16>) cross_entropy<bfloat16>;
template decltype(cross_entropy_loss_only<float>) cross_entropy_loss_only<float>;
template decltype(cross_entropy_loss_only<bfloat16>) cross_entropy_loss_only<bfloat16>;

}  // namespace ziggurat::kernels
