/// End of a step: clip factor, updates chunk by chunk, publication.
#pragma once

#include "layout/chunk_layout.hpp"
#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Returns the chunks of the optimizer shards that this rank updates.
layout::ChunkLayout optimizer_chunks(const spec::RunSpec& spec, const ModelLayout& model);

/// Appends the ops at the end of a step:
///
/// - `step_end`, which computes the clip factor and the skip flag from the exact sums of all ranks, and the
///   loss of all ranks from this rank's losses. It works on the host, on its own lane. Its group contains all
///   ranks; a single rank has no group.
/// - one `update` per chunk. It has one operand per unit of the chunk and role: gradient (read), master,
///   first_moment, second_moment (read and written), parameters (written; omitted if the parameters are the
///   master), and update_inputs. The operands are in the order of the units, the same order for each role.
///   Each operand has one contiguous range, which does not depend on the bounds of parameters. The first
///   element of a range in the unit's flat range is Buffer::first_element + offset / element size. Code that
///   binds the op finds the parameter group from this element.
/// - `all_gather` of the updated shards among the o/p ranks that hold the same parameters, as soon as all
///   chunks of a bucket of units are updated, in order of first use.
void optimizer_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
