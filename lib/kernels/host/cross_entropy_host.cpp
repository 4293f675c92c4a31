#include <algorithm>
#include <cstdint>

#include "base/contract.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/rows_host.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

using tensor::TensorRef;

template <class T>
float largest(const T* x, std::int64_t count) {
    float top = lowest_logit;
#pragma omp simd reduction(max : top)
    for (std::int64_t i = 0; i < count; ++i) {
        top = std::max(top, float(x[i]));
    }
    return top;
}

template <class T, class Reader>
float sum_of_powers(const T* x, std::int64_t count, const Reader& reader, float pivot) {
    const float slope = reader.slope();
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) {
        sum += relative_power(reader.read(float(x[i])), slope, pivot);
    }
    return sum;
}

/// Adds columns to the statistics and reads memory once: a block stays in L1 between maximum and sum.
///
/// The exponent grows with the logit, so the largest exponent is that of the largest logit.
template <class T, class Reader>
void add_columns(const T* x, std::int64_t count, const Reader& reader, LossStatistics& kept) {
    constexpr std::int64_t block = 1024;
    for (std::int64_t first = 0; first < count; first += block) {
        const auto n = std::min(block, count - first);
        const float before = kept.top;
        kept.top = merged_top(before, reader.exponent(largest(x + first, n)));
        add_powers(kept, before, sum_of_powers(x + first, n, reader, kept.top));
    }
}

template <class T, class Reader>
float log2_sum_exp(const T* x, std::int64_t count, const Reader& reader) {
    LossStatistics kept = no_columns;
    add_columns(x, count, reader, kept);
    return log2_sum(kept);
}

/// Computes x = scale * (softmax(z) - onehot(target)), through the cap; 0 for columns from `valid` on.
///
/// z is the transform of x. `scale` contains its factor and may be negative. A target outside of these
/// columns is ignored.
template <class T, class Reader>
void gradient_row(T* x,
                  std::int64_t valid,
                  std::int64_t padded,
                  std::int64_t target,
                  const Reader& reader,
                  float log2_of_sum,
                  float scale) {
    if (scale == 0) {
        std::fill_n(x, padded, T(0.0f));
        return;
    }
    const bool has_target = 0 <= target && target < valid;
    const float target_value = has_target ? reader.read(float(x[target])) : 0.0f;
    const float pivot = gradient_pivot(log2_of_sum, std::fabs(scale));
    const float sign = std::copysign(1.0f, scale);
    const float slope = reader.slope();
#pragma omp simd
    for (std::int64_t i = 0; i < valid; ++i) {
        const float value = reader.read(float(x[i]));
        tensor::store(x[i], reader.through_cap(sign * relative_power(value, slope, pivot), value));
    }
    if (has_target) {
        const float gradient = target_gradient(loss_of(target_value * slope, log2_of_sum), scale);
        x[target] = T(reader.through_cap(gradient, target_value));
    }
    std::fill(x + valid, x + padded, T(0.0f));
}

bool is_counted(TensorRef<const std::uint8_t, 1> mask, std::int64_t row) {
    return mask.empty() || mask.data[row] != 0;
}

void check_targets(TensorRef<const std::int32_t, 1> targets,
                   std::int64_t vocab,
                   TensorRef<const std::uint8_t, 1> mask) {
    for (std::int64_t row = 0; row < targets.extent(0); ++row) {
        ZG_EXPECTS(!is_counted(mask, row) || (targets.data[row] >= 0 && targets.data[row] < vocab));
    }
}

}  // namespace

template <class T>
void cross_entropy(const device::Stream&,
                   TensorRef<T, 2> logits,
                   std::int64_t vocab,
                   TensorRef<const std::int32_t, 1> targets,
                   TensorRef<const std::uint8_t, 1> mask,
                   const StepInputs* inputs,
                   TensorRef<float, 1> losses,
                   const LogitTransform& transform) {
    ZG_EXPECTS(inputs->loss_scale >= 0);
    check_targets(targets, vocab, mask);

    const float scale = inputs->loss_scale * transform.factor;
    with_reader(transform, [&](auto reader) {
        for_rows("ziggurat::cross_entropy", logits.extent(0), [=](std::int64_t row) {
            T* x = logits.row(row);
            if (!is_counted(mask, row)) {
                std::fill_n(x, logits.extent(1), T(0.0f));
                losses.data[row] = 0;
                return;
            }
            const float log2_of_sum = log2_sum_exp<T>(x, vocab, reader);
            losses.data[row] = loss_of(reader.exponent(float(x[targets.data[row]])), log2_of_sum);
            gradient_row(x, vocab, logits.extent(1), targets.data[row], reader, log2_of_sum, scale);
        });
    });
}

template <class T>
void cross_entropy_loss_only(const device::Stream&,
                             TensorRef<const T, 2> logits,
                             std::int64_t vocab,
                             TensorRef<const std::int32_t, 1> targets,
                             TensorRef<const std::uint8_t, 1> mask,
                             TensorRef<float, 1> losses,
                             const LogitTransform& transform) {
    check_targets(targets, vocab, mask);

    with_reader(transform, [&](auto reader) {
        for_rows("ziggurat::cross_entropy_loss_only", logits.extent(0), [=](std::int64_t row) {
            const T* x = logits.row(row);
            losses.data[row] = is_counted(mask, row) ? loss_of(reader.exponent(float(x[targets.data[row]])),
                                                               log2_sum_exp(x, vocab, reader))
                                                     : 0.0f;
        });
    });
}

template <class T>
void cross_entropy_tile(const device::Stream&,
                        TensorRef<const T, 2> logits,
                        std::int64_t first,
                        std::int64_t vocab,
                        TensorRef<const std::int32_t, 1> targets,
                        TensorRef<const std::uint8_t, 1> mask,
                        Accumulate accumulate,
                        std::span<LossStatistics> statistics,
                        const LogitTransform& transform) {
    check_targets(targets, vocab, mask);

    const auto valid = std::clamp<std::int64_t>(vocab - first, 0, logits.extent(1));
    with_reader(transform, [&](auto reader) {
        for_rows("ziggurat::cross_entropy_tile", logits.extent(0), [=](std::int64_t row) {
            auto& kept = statistics[row];
            if (accumulate == Accumulate::no) {
                kept = no_columns;
            }
            if (!is_counted(mask, row)) {
                return;
            }
            const T* x = logits.row(row);
            add_columns(x, valid, reader, kept);
            const auto target = targets.data[row] - first;
            if (0 <= target && target < valid) {
                kept.at_target = reader.exponent(float(x[target]));
            }
        });
    });
}

void merge_statistics(const device::Stream&,
                      std::span<const LossStatistics> slices,
                      std::span<LossStatistics> merged) {
    for (std::size_t row = 0; row < merged.size(); ++row) {
        LossStatistics kept = slices[row];
        for (auto next = row + merged.size(); next < slices.size(); next += merged.size()) {
            merge(kept, slices[next]);
        }
        merged[row] = kept;
    }
}

void losses_of_statistics(const device::Stream&,
                          std::span<const LossStatistics> statistics,
                          TensorRef<const std::uint8_t, 1> mask,
                          TensorRef<float, 1> losses) {
    for (std::int64_t row = 0; row < losses.extent(0); ++row) {
        const auto& kept = statistics[row];
        losses.data[row] = is_counted(mask, row) ? loss_of(kept.at_target, log2_sum(kept)) : 0.0f;
    }
}

template <class T>
void cross_entropy_tile_gradient(const device::Stream&,
                                 TensorRef<T, 2> logits,
                                 std::int64_t first,
                                 std::int64_t vocab,
                                 TensorRef<const std::int32_t, 1> targets,
                                 TensorRef<const std::uint8_t, 1> mask,
                                 TensorRef<const float, 1> weights,
                                 std::span<const LossStatistics> statistics,
                                 const StepInputs* inputs,
                                 const LogitTransform& transform) {
    ZG_EXPECTS(inputs->loss_scale >= 0);
    check_targets(targets, vocab, mask);

    const float scale = inputs->loss_scale * transform.factor;
    const auto valid = std::clamp<std::int64_t>(vocab - first, 0, logits.extent(1));
    with_reader(transform, [&](auto reader) {
        for_rows("ziggurat::cross_entropy_tile_gradient", logits.extent(0), [=](std::int64_t row) {
            T* x = logits.row(row);
            if (!is_counted(mask, row)) {
                std::fill_n(x, logits.extent(1), T(0.0f));
                return;
            }
            gradient_row(x, valid, logits.extent(1), targets.data[row] - first, reader,
                         log2_sum(statistics[row]), weights.empty() ? scale : scale * weights.data[row]);
        });
    });
}

ZG_REGISTER_HOST_KERNEL(cross_entropy_tile<float>);
ZG_REGISTER_HOST_KERNEL(cross_entropy_tile<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(cross_entropy_tile_gradient<float>);
ZG_REGISTER_HOST_KERNEL(cross_entropy_tile_gradient<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(cross_entropy<float>);
ZG_REGISTER_HOST_KERNEL(cross_entropy<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(cross_entropy_loss_only<float>);
ZG_REGISTER_HOST_KERNEL(cross_entropy_loss_only<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(merge_statistics);
ZG_REGISTER_HOST_KERNEL(losses_of_statistics);

}  // namespace ziggurat::kernels::host
