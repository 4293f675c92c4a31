/// Leases of parameters that are sharded over data ranks.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Gives each unit's parameters a buffer (a lease) while one pass of one micro-batch needs them.
///
/// An all_gather over the span of parameters fills the lease. In a unit with trained and frozen tensors, one
/// collective moves both regions, with one operand each.
///
/// Leases: one serves the forward of a unit, one its backward and recomputation, and one the head, which runs
/// forward and backward together. (With tied weights, the head has another lease of the embedding.) The
/// backward of a lookup needs no lease. Leases are issued in order of first use, `overlap.prefetch` leases
/// before the current one, and end with their last op; place_buffers then reuses their memory.
///
/// Each segment of a tiled unit (layout::UnitTiling) has its own leases, with the parts that its ops read.
/// Recomputation has a lease in addition to that of backward, and each of the two passes of a tiled head has
/// its own, because no segment is kept for a later pass.
///
/// With train.accumulate by_layer, a lease of an untiled unit serves the pass of all micro-batches.
///
/// With sharding.leases step, one lease of an untiled unit serves all readers of the whole step.
///
/// With a secondary span s, the first lease of a unit in a step writes a slice of 1/s to a second copy on
/// this rank. All later leases of the unit in that step are gathered from the second copies of s neighbouring
/// ranks.
///
/// Does nothing if parameters are not sharded. Runs before reduce_pass.
///
/// Source: Rajbhandari et al., "ZeRO", 2020, section 5.3; Rajbhandari et al., "ZeRO-Infinity", 2021,
/// section 6.2 (each rank holds a slice of every unit); Wang et al., "ZeRO++", 2023, section 3.2 (the second
/// copy).
void gather_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
