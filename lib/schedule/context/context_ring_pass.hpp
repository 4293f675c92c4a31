/// Ring attention over a sequence that is sharded over the context axis.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Replaces every attention op by one round per rank of the context axis.
///
/// In each round, a rank applies its queries to the keys and values that it has just received, and sends
/// these keys and values to the next rank of the ring.
///
///     forward    packs own keys and values (kv); in round i: receives kv of round i + 1, sends kv of
///                round i, computes attention of the own queries with it, and merges output and lse
///     backward   the same rounds; the gradient of kv (f32) follows its kv around the ring, each rank adds
///                its part, and the gradient returns to its owner after the last round
///
/// The sequence is cut into 2c blocks; rank r has blocks r and 2c - 1 - r (layout::context_rows). With the
/// causal mask, every rank therefore has the same work in every round. A block is sent as long as the next
/// rank or a later one has queries that attend to it, by the causal mask and the window. Rounds without such
/// queries are left out. Masks of documents are data: kernels skip what they exclude. Sends and receives have
/// their own lanes, in the same order on all ranks.
///
/// If layout::inner_ring is smaller than the context axis, rings have two levels (layout::RingPlan): blocks
/// circulate within a node, while the first block of the turn travels to the next node on lanes of its own.
/// In backward, each turn sums the gradients of its keys on the node. The sum of all turns but the first,
/// which the owner's node has, follows the keys from node to node one turn later, and returns to the owner.
///
/// Does nothing unless the context axis has several ranks and its kind is ring. Runs after recompute_pass:
/// its clones become rings too.
///
/// Source: Liu et al., "Ring Attention with Blockwise Transformers", 2023, section 3; Brandon et al.,
/// "Striped Attention", 2023 (balance); Gu et al., "LoongTrain", 2024 (two levels); parts are merged by their
/// log-sum-exp.
/// Numerics: sums over keys have another order on every rank, so results agree within a tolerance only. They
/// depend on the number of ranks and of nodes, not on timing.
void context_ring_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
