/// Normalization of each query and key head (QK-norm).
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"

namespace ziggurat::kernels {

/// Heads of a row of queries, then keys, then values; those of one rank.
struct QkvHeads {
    std::int64_t heads, kv_heads, head_dim;

    constexpr std::int64_t width() const noexcept { return (heads + 2 * kv_heads) * head_dim; }
};

/// Largest head that head_norm supports on a GPU.
inline constexpr std::int64_t max_head_norm_channels = 256;

/// Computes y = (gain_offset + gain) * x / sqrt(mean(x^2) + epsilon) for each query and key head.
///
/// Copies the value heads. All query heads share one gain, and all key heads another.
///
/// Source: Henry et al., "Query-Key Normalization for Transformers", 2020, with the RMS norm and the gains of
///         Qwen3 (Yang et al., "Qwen3 Technical Report", 2025, section 2).
///
/// Shapes:   x, y [rows, (heads + 2 kv_heads) head_dim]; gain [2 head_dim], first that of queries
/// Numerics: as rms_norm_forward
/// Async:    on `stream`
/// Errors:   Error{internal} if shapes disagree; on a GPU also if head_dim > max_head_norm_channels
template <class T>
void head_norm_forward(const device::Stream& stream,
                       const QkvHeads& shape,
                       TensorAddress<const T, 2> x,
                       VectorAddress<const T> gain,
                       float gain_offset,
                       float epsilon,
                       TensorAddress<T, 2> y);

/// Replaces the gradient of y by that of x, and computes the gradient of gain.
///
/// Shapes:   as above; dx as x; d_gain [2 head_dim] or empty;
///           workspace of layout::Workspaces::column_sum(head_dim)
/// Numerics: as rms_norm_backward. d_gain is the sum over tokens and over the heads of this rank.
/// Errors:   as above, and if the workspace is too small
template <class T>
void head_norm_backward(const device::Stream& stream,
                        const QkvHeads& shape,
                        TensorAddress<const T, 2> x,
                        VectorAddress<const T> gain,
                        float gain_offset,
                        float epsilon,
                        TensorAddress<T, 2> dx,
                        VectorAddress<float> d_gain,
                        Accumulate accumulate,
                        VectorAddress<std::byte> workspace);

}  // namespace ziggurat::kernels
