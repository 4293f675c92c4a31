/// Sums of gradients over ranks, as the sum plan (sharding.reduce) requires.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Inserts the reductions of gradients after the ops that complete them, and the sums of squares for
/// the norm.
///
/// d is the data degree and o the optimizer span. The first span f is 1 for `at_end`, g for `by_span` and d
/// for `each_microbatch`. Buckets contain whole units. The gradient of a unit is reduced as follows:
///
///     per micro-batch   f > 1 or not at_end: own buffer; reduce_scatter over the f ranks;
///                       added to this rank's shard
///     after the last    reduce_scatter over the d/f ranks that hold the same shard, which leaves piece d;
///                       sums over the tensor axis (of partial gradients), over the context axis, and, for
///                       a tied table, with its copy on another stage; all_gather over the d/o ranks of one
///                       optimizer shard
///
/// All this applies to the trained region of units; frozen elements have no gradient.
///
/// With `precision.gradient: bf16`, every micro-batch has its own fp32 buffer, and its sums over ranks are
/// fp32 sums. The accumulator over micro-batches is bf16 and is rounded after each `add` (the first `add` of
/// a step only converts). Sums over ranks after the last micro-batch are transferred in bf16 and rounded one
/// time.
///
/// Each `norm` op covers only this rank's piece, so each element counts one time over the data axis.
///
/// A collective of several units or ranges has several operands. reads[i] and writes[i] belong together.
/// blocks[i * members + m] is member m's block in the buffer of reads[i] (reduce_scatter, all_reduce) or
/// writes[i] (all_gather).
///
/// Sums over micro-batches are listed one bucket later than possible, and norms after the whole backward. The
/// collectives that they wait for are then usually done when the compute lane reaches them. If gradients have
/// their home away from the device, norms are listed with those sums, so that no gradient is fetched again.
///
/// If updates in backward clip units by their own norms, norms are listed with those sums, too, each followed
/// by its `unit_clip`. So this op has the same place in the programs of all data ranks, also of those that
/// count no gradient of the unit.
///
/// Sets `accumulate` of all ops that write gradients of parameters: true if this step (with at_end) or this
/// micro-batch has written them before. If only some of an op's gradients are already written, a `fill`
/// zeroes the others before the op.
///
/// Source: Rajbhandari et al., "ZeRO", 2020, section 7 (volumes); Chen et al., "AMSP", 2023, section 3.
void reduce_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
