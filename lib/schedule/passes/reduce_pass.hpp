/// Sums gradients over ranks, as the sum plan says.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Inserts the reductions of gradients behind the ops that complete them, and the sums of squares for the
/// norm.
///
/// With data degree d, optimizer span o and a first span f (1 for `at_end`, g for `by_span`, d for
/// `each_microbatch`), a unit's gradient becomes, whole units per bucket:
///
///     per micro-batch   f > 1 or not at_end: a buffer of its own; reduce_scatter over the run of f ranks;
///                       added to this rank's shard
///     after the last    reduce_scatter over the d/f ranks that hold the same shard, leaving the piece d;
///                       sums over the tensor axis (of what is a summand there), over the context axis, and
///                       of a tied table with its copy on another stage; all_gather over the d/o ranks of one
///                       optimizer shard
///
/// All of this concerns the trained region of units; what is frozen has no gradient.
///
/// With `precision.gradient: bf16` every micro-batch has a buffer of its own, in fp32, and sums of a
/// micro-batch over ranks are sums of fp32. What is added up over micro-batches is a bf16 accumulator,
/// rounded after each `add` (whose first one of a step only converts); what is summed over ranks after the
/// last micro-batch travels in bf16 and is rounded once.
///
/// Each op `norm` covers this rank's piece only, so over the data axis everything counts once.
///
/// A collective of several units, or of several ranges, has several operands: reads[i] and writes[i] belong
/// together and blocks[i * members + m] is member m's block in the buffer of reads[i] (reduce_scatter,
/// all_reduce) or writes[i] (all_gather).
///
/// Sums over micro-batches are placed one bucket later than they could be, norms behind all of backward, so
/// that the compute lane meets the collectives that they wait for done. Norms of gradients at home away from
/// the device come with those sums, so that nothing is brought back for them.
///
/// Sets `accumulate` of all ops that write gradients of parameters: true where this step (with at_end) or
/// this micro-batch has written them before. Where an op finds only some of its gradients written, a `fill`
/// zeroes the others before it.
///
/// Source: Rajbhandari et al., "ZeRO", 2020, section 7 (volumes); Chen et al., "AMSP", 2023, section 3.
void reduce_pass(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
