/// Rounds of attention over a sequence whose blocks are on several ranks.
///
/// A rank has two blocks of queries, and in each round the keys and values of some blocks of one rank. Its
/// rows are all positions of its first block, then those of its second block, in each sequence.
///
/// Source: Liu et al., "Ring Attention with Blockwise Transformers", 2023, section 3; partial results are
///         merged as in Dao, "FlashAttention-2", 2023, section 3.1.1.
#pragma once

#include "kernels/attention.hpp"
#include "layout/context/ring_round.hpp"

namespace ziggurat::kernels {

using layout::RingRound;

// On GPUs, the kernels of whole sequences compute a round in one launch, for all blocks that meet: on tensor
// cores in bfloat16 without dropout and soft caps, for heads of a multiple of 8 channels up to 128, otherwise
// on CUDA cores, which are 30 times slower. Tiles outside of a query's document or window are skipped. A tile
// is merged when its keys end, so a round reads and writes `merged` and the gradients one time in float.
// cuDNN is not used. These rounds have not been measured on a GPU.

/// Copies the keys and values of a rank's rows to blocks.
///
/// Shapes:  qkv [batch * 2 block, (heads + 2 kv_heads) head_dim], see attention_forward; kv [2 * batch *
///          block, 2 kv_heads head_dim]: block by block, each with all sequences
/// Async:   on `stream`
/// Errors:  Error{internal} if shapes disagree
template <class T>
void pack_ring_keys(const device::Stream& stream,
                    const AttentionShape& shape,
                    TensorAddress<const T, 2> qkv,
                    TensorAddress<T, 2> kv);

/// Merges the attention of the rank's queries to the keys of a round with that of earlier rounds.
///
/// The first round has the rank's own keys. `merged` is the output for the keys so far; the last round, which
/// has `out`, also rounds it to T.
///
/// Shapes:   shape.seq is the length of whole sequences; kv [round.keys.count * batch * block, 2 kv_heads
///           head_dim]; document_starts [batch * seq], or empty, with positions in the whole sequence; merged
///           [batch * 2 block, heads head_dim]; lse [batch, heads, 2 block], in units of log2; out as merged,
///           or empty
/// Numerics: sums, softmax, lse and `merged` in float. The bits do not depend on the number of threads.
/// Dropout:  as in attention_forward, by positions in the whole sequence
/// Async:    on `stream`; arguments, including the workspace, must live until it has run
/// Errors:   Error{internal} if shapes disagree or the workspace is below layout::Workspaces::attention for
///           sequences of one block
template <class T>
void ring_attention_forward(const device::Stream& stream,
                            const AttentionShape& shape,
                            const RingRound& round,
                            TensorAddress<const T, 2> qkv,
                            TensorAddress<const T, 2> kv,
                            VectorAddress<const std::int32_t> document_starts,
                            const Dropout& dropout,
                            TensorAddress<float, 2> merged,
                            TensorAddress<float, 3> lse,
                            TensorAddress<T, 2> out,
                            VectorAddress<std::byte> workspace);

/// Adds the gradients of a round to d_q and d_kv.
///
/// `out` and `lse` are the merged results of all rounds. The first round, which has the rank's own keys,
/// stores d_q. Without `accumulate`, d_kv is stored.
///
/// Shapes:   d_q [batch * 2 block, heads head_dim]; d_kv as kv; others as in ring_attention_forward
/// Numerics: gradients in float; queries and heads are added in the order of attention_backward
template <class T>
void ring_attention_backward(const device::Stream& stream,
                             const AttentionShape& shape,
                             const RingRound& round,
                             TensorAddress<const T, 2> qkv,
                             TensorAddress<const T, 2> kv,
                             VectorAddress<const std::int32_t> document_starts,
                             const Dropout& dropout,
                             TensorAddress<const T, 2> out,
                             TensorAddress<const T, 2> d_out,
                             TensorAddress<const float, 3> lse,
                             Accumulate accumulate,
                             TensorAddress<float, 2> d_q,
                             TensorAddress<float, 2> d_kv,
                             VectorAddress<std::byte> workspace);

/// Rounds d_q and d_kv to d_qkv.
///
/// Shapes:  d_kv has both blocks of the rank
template <class T>
void join_ring_gradients(const device::Stream& stream,
                         const AttentionShape& shape,
                         TensorAddress<const float, 2> d_q,
                         TensorAddress<const float, 2> d_kv,
                         TensorAddress<T, 2> d_qkv);

}  // namespace ziggurat::kernels
