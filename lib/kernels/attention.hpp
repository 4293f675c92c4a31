/// Causal self-attention whose memory grows linearly with the sequence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"
#include "kernels/tensor_address.hpp"
#include "layout/attention_choice.hpp"

namespace ziggurat::kernels {

/// `heads` query heads share `kv_heads` heads of keys and values, a divisor; query head h uses h / (heads /
/// kv_heads).
struct AttentionShape {
    std::int64_t batch, seq, heads, kv_heads, head_dim;
    std::int64_t first_head =
        0;  ///< global index of query head 0, where heads are spread over ranks (for dropout)
};

/// out = softmax(scale q k^T + causal mask) v for every sequence and head, scale = 1 / sqrt(head_dim).
///
/// Source:   Dao et al., "FlashAttention", 2022, algorithm 1 (running maximum and sum over blocks of keys).
///
/// Shapes:   qkv [batch * seq, (heads + 2 kv_heads) head_dim]: query heads, then key heads, then value heads;
///           document_starts [batch * seq], or empty for all 0: the first position in its sequence that a
///           query sees, at most its own and never falling within a sequence; out [batch * seq, heads
///           head_dim]; lse [batch, heads, seq]: log2 of the sum of exp over the scaled scores, kept for
///           backward
/// Numerics: sums, softmax and lse in float; the weights are rounded to T before they meet v. The same bits
/// for
///           any number of threads.
/// Dropout:  on the weights after the softmax, as dropout.hpp says
/// Async:    on `stream`; arguments, workspace included, must live until it has run
/// Errors:   Error{internal} when shapes disagree or the workspace is below layout::Workspaces::attention; on
///           the host, which alone can refuse values, also when a document start falls or lies behind its
///           query. A GPU holds starts within their bounds; its heads have up to 256 channels.
/// On GPUs:  prepare_attention says which kernel computes a call. With cuDNN, lse is the natural logarithm.
/// In
///           bfloat16, tensors begin at multiples of 16 bytes.
template <class T>
void attention_forward(const device::Stream& stream,
                       const AttentionShape& shape,
                       TensorAddress<const T, 2> qkv,
                       VectorAddress<const std::int32_t> document_starts,
                       const Dropout& dropout,
                       TensorAddress<T, 2> out,
                       TensorAddress<float, 3> lse,
                       VectorAddress<std::byte> workspace);

/// d_qkv from d_out; `out` and `lse` are those of attention_forward on the same arguments.
///
/// Source:   Dao et al., 2022, algorithm 4; Dao, "FlashAttention-2", 2023, section 3.1.2.
///
/// Numerics: as above; scores are computed again. Key and value gradients add the query heads of their group
/// in
///           ascending order, within a head the queries in ascending order.
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
/// Ops by the kernel that serves them.
using AttentionOps = std::array<std::int64_t, num_attention_kernels>;

/// Makes what calls of this shape need on the processor of `stream`, once; with cuDNN that takes seconds.
/// Returns the kernel that computes them: on a GPU the one that layout::choose_attention names.
template <class T>
AttentionKernel prepare_attention(const device::Stream& stream,
                                  const AttentionShape& shape,
                                  const layout::AttentionUse& use);

/// A library that may compute attention on GPUs.
struct AttentionLibrary {
    std::string name = {};  ///< and its version; empty: this build or this machine has none
    std::string lack = {};  ///< why one that this build can use is not used
};

/// That of this process.
AttentionLibrary attention_library();

/// Names of the kernels that serve ops, joined by " + ": "host", "cuda_cores", "tensor_cores", "cudnn".
std::string names_of(const AttentionOps& ops);
/// The same as a sentence for people: "cuDNN 9.19.0 (24 ops)".
std::string describe(const AttentionOps& ops);

}  // namespace ziggurat::kernels
