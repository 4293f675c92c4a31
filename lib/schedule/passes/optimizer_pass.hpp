/// The end of a step: clip factor, updates chunk by chunk, publication.
#pragma once

#include "layout/chunk_layout.hpp"
#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// The chunks of the optimizer shards that this rank updates.
layout::ChunkLayout optimizer_chunks(const spec::RunSpec& spec, const ModelLayout& model);

/// Appends:
///
/// - `step_end`, which makes the clip factor and the skip flag from the exact sums of all ranks, and
///   their loss from the losses that this rank makes. It works on the host, on a lane of its own. Its
///   group is that of all ranks; a single rank has none.
/// - one `update` per chunk. It has an operand per unit of the chunk and role: gradient (read), master,
///   first_moment, second_moment (read and written), parameters (written; left out where the parameters are
///   the master), and update_inputs. The operands of one unit follow each other in the order of the
///   units, the same in each role; each has one run, a contiguous range that knows nothing of where
///   parameters begin. The first element of a run in the unit's flat range is Buffer::first_element + offset
///   / element size: from it whoever binds the op finds the parameter group.
/// - `all_gather` of the updated shards among the o/p ranks that hold the same parameters, as soon as all
///   chunks of a bucket of units are updated, in order of first use.
void optimizer_pass(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
