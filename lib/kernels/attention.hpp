/// Causal self-attention with memory linear in the sequence length.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/enum_array.hpp"
#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"
#include "layout/attention_choice.hpp"

namespace ziggurat::kernels {

/// Sizes of one attention call with grouped queries.
///
/// `heads` query heads share `kv_heads` heads of keys and values, a divisor. Query head h uses key/value head
/// h / (heads / kv_heads).
struct AttentionShape {
    std::int64_t batch, seq, heads, kv_heads, head_dim;
    /// Global index of query head 0 if heads are sharded over ranks; for dropout.
    std::int64_t first_head = 0;
    float scale = 0;         ///< factor of the scores; 0: 1 / sqrt(head_dim)
    bool any_order = false;  ///< cuDNN's backward may add in an order that changes from call to call
    float score_cap = 0;     ///< soft cap of the scaled scores: cap tanh(score / cap); 0: none

    /// Returns the factor of the scores. All backends take it from here.
    float score_scale() const noexcept {
        return scale != 0 ? scale : 1.0f / std::sqrt(static_cast<float>(head_dim));
    }
};

/// Computes out = softmax(scale q k^T + causal mask) v for every sequence and head.
///
/// scale = shape.score_scale(). With shape.score_cap, the scaled scores are capped before the mask.
///
/// Source:   Dao et al., "FlashAttention", 2022, algorithm 1 (running maximum and sum over blocks of keys).
///
/// Shapes:   qkv [batch * seq, (heads + 2 kv_heads) head_dim]: query heads, then key heads, then value heads;
///           document_starts [batch * seq], or empty for all 0: the first position in its sequence that a
///           query attends to, which is the start of its document or of its window; at most the query's
///           position, and never decreasing within a sequence; out
///           [batch * seq, heads head_dim]; lse [batch, heads, seq]: log2 of the sum of exp over the scaled
///           scores, saved for backward
/// Numerics: sums, softmax and lse in float; the weights are rounded to T before they multiply v. The bits do
///           not depend on the number of threads.
/// Dropout:  on the weights after the softmax, as in dropout.hpp
/// Async:    on `stream`; arguments, including the workspace, must live until it has run
/// Errors:   Error{internal} if shapes disagree or the workspace is below layout::Workspaces::attention. The
///           host also rejects document starts that decrease or are after their query. A GPU cannot check
///           values and clamps starts to their bounds; its heads have up to 256 channels.
/// On GPUs:  prepare_attention returns the kernel that computes a call. With cuDNN, lse is the natural
///           logarithm. In bfloat16, tensors begin at multiples of 16 bytes.
template <class T>
void attention_forward(const device::Stream& stream,
                       const AttentionShape& shape,
                       TensorAddress<const T, 2> qkv,
                       VectorAddress<const std::int32_t> document_starts,
                       const Dropout& dropout,
                       TensorAddress<T, 2> out,
                       TensorAddress<float, 3> lse,
                       VectorAddress<std::byte> workspace);

/// Computes d_qkv from d_out.
///
/// `out` and `lse` are the results of attention_forward on the same arguments.
///
/// Source:   Dao et al., 2022, algorithm 4; Dao, "FlashAttention-2", 2023, section 3.1.2.
///
/// Numerics: as above; scores are recomputed. Key and value gradients add the query heads of their group in
///           ascending order, and within a head the queries in ascending order.
template <class T>
void attention_backward(const device::Stream& stream,
                        const AttentionShape& shape,
                        TensorAddress<const T, 2> qkv,
                        VectorAddress<const std::int32_t> document_starts,
                        const Dropout& dropout,
                        TensorAddress<const T, 2> out,
                        TensorAddress<const T, 2> d_out,
                        TensorAddress<const float, 3> lse,
                        TensorAddress<T, 2> d_qkv,
                        VectorAddress<std::byte> workspace);

using layout::AttentionKernel;

inline constexpr int num_attention_kernels = 4;
/// Number of ops for each attention kernel.
using AttentionOps = EnumArray<AttentionKernel, std::int64_t, num_attention_kernels>;

/// Prepares calls of this shape on the processor of `stream`, once. With cuDNN this takes seconds.
///
/// Returns the kernel that computes them: on a GPU the one that layout::choose_attention selects.
template <class T>
AttentionKernel prepare_attention(const device::Stream& stream,
                                  const AttentionShape& shape,
                                  const layout::AttentionUse& use);

/// A library that can compute attention on GPUs.
struct AttentionLibrary {
    std::string name = {};             ///< with its version; empty: this build or this machine has no library
    std::string unusable_reason = {};  ///< reason why a library of this build cannot be used
};

/// Returns the library of this process.
AttentionLibrary attention_library();

/// Returns the names of the kernels that have ops, joined by " + ".
///
/// The names are "host", "cuda_cores", "tensor_cores" and "cudnn".
std::string names_of(const AttentionOps& ops);
/// Returns the same as human-readable text: "cuDNN 9.19.0 (24 ops)".
std::string describe(const AttentionOps& ops);

}  // namespace ziggurat::kernels
