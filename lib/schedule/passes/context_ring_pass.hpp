/// Attention over a sequence whose tokens are cut over the context axis.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Replaces every attention op by as many rounds as the context axis has ranks. In each round a rank takes
/// its queries against the keys and values that it has just received, while these go on to the next rank of
/// the ring.
///
///     forward    pack own keys and values (kv); in round i: receive kv of round i + 1, send that of round i,
///                attention of the own queries with it, merged into output and lse of the rounds before
///     backward   the same rounds; the gradient of kv (f32) follows its kv around the ring, every rank adding
///                its part, and comes home after the last round
///
/// The sequence is cut in 2c pieces of which rank r holds r and 2c - 1 - r, so that under the causal mask
/// every rank has the same work in every round. Sends and receives are on lanes of their own, in the same
/// order on all ranks.
///
/// Does nothing when the context axis has one rank. Runs after recompute_pass, whose clones become rings too.
///
/// Source: Liu et al., "Ring Attention with Blockwise Transformers", 2023, section 3; Brandon et al.,
/// "Striped Attention", 2023 (balance); parts merged by their log-sum-exp. Numerics: sums over keys in
/// another order on every rank: a tolerance, not equal bits.
///
/// \pre context.kind is ring
void context_ring_pass(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
