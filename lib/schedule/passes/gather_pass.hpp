/// Leases of parameters that are sharded over data ranks.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Gives every unit's parameters a buffer for as long as one pass of one micro-batch needs them, and fills it
/// by an all_gather over the span of parameters. Of a unit with trained and frozen tensors both regions
/// travel in one collective, an operand each.
///
/// One lease serves the forward of a unit, one its backward and what is recomputed for it, one the head,
/// which runs forward and backward in one go (and with tied weights takes one of the embedding too). A
/// lookup's backward takes none. Leases are issued in order of first use, `overlap.prefetch` of them ahead of
/// the one in use, and end with their last op: place_buffers then gives their memory to others.
///
/// Of a unit that is cut (layout::UnitTiling) each segment has leases of its own, of the parts that its ops
/// read; what is recomputed takes one beside that of backward, and the two passes of a tiled head one each,
/// because no segment stays for a later pass.
///
/// With sharding.leases step, one lease of a unit that is not cut into tiles serves all of the step, whoever
/// reads it.
///
/// With a secondary span s, the first lease of a unit in a step leaves a slice of 1/s in a second copy on
/// this rank, and all later leases of that step are gathered from there, over s neighbouring ranks.
///
/// Does nothing when parameters are not sharded. Runs before reduce_pass.
///
/// Source: Rajbhandari et al., "ZeRO", 2020, section 5.3; Rajbhandari et al., "ZeRO-Infinity", 2021,
/// section 6.2 (each rank holds a slice of every unit); Wang et al., "ZeRO++", 2023, section 3.2 (the second
/// copy).
void gather_pass(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
