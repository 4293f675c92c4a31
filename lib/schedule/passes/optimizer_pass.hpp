/// Optimizer: clip factor, updates chunk by chunk, publication; at the end of a step or in backward.
#pragma once

#include "layout/chunk_layout.hpp"
#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Returns the chunks of the optimizer shards that this rank updates.
layout::ChunkLayout optimizer_chunks(const spec::RunSpec& spec, const ModelLayout& model);

/// Adds the ops of the optimizer, at the end of the step:
///
/// - `step_end`, which computes the clip factor and the skip flag from the exact sums of all ranks, and the
///   loss of all ranks from this rank's losses. It works on the host, on its own lane. Its group contains all
///   ranks, or those of a stage in a pipeline without a flush; a single rank has no group.
/// - one `update` per chunk. It has one operand per unit of the chunk and role: gradient (read), master,
///   first_moment, second_moment (read and written), parameters (written; omitted if the parameters are the
///   master), and update_inputs; with norms by unit also update_sums (read and written), the unit's two sums
///   in trainer_buffers.update_sums. The operands are in the order of the units, the same order for each role.
///   Each operand has one contiguous range, which does not depend on the bounds of parameters. The first
///   element of a range in the unit's flat range is Buffer::first_element + offset / element size. Code that
///   binds the op finds the parameter group from this element.
/// - `all_gather` of the updated shards among the o/p ranks that hold the same parameters, as soon as all
///   chunks of a bucket of units are updated, in order of first use.
///
/// With overlap.optimizer_with_backward, updates and publications are in backward instead: an update follows
/// the last op that writes the gradients or uses the parameters of its unit, so the units of the last layers
/// come first. A chunk of several units has an update for each of them. A `copy` at the start of the step
/// gives its inputs to the updates; step_end only sums.
///
/// If clipping is global, these updates are speculative: they assume that the gradient is finite and needs no
/// clipping, and keep the state before them: on NVMe in the other slot (add_second_slots), state in memory in
/// a buffer of the host. After step_end, each chunk has a second `update`, whose predicate is that the
/// assumption was wrong. It takes the kept state back and repeats the update with the clip factor, or without
/// change if the step is skipped. Publications follow it. Chunks at home on the device are updated after
/// step_end.
///
/// If each unit is clipped by its own norm, an update has the elements of one unit. Before the first update
/// of a unit, a `unit_clip` computes its inputs from the unit's exact sums: in backward from the step's
/// inputs, at the end of the step from those of step_end, which skip a step that is not finite.
///
/// With overlap.delayed_update, an update leaves the parameters unchanged; the publication at the end of the
/// next step's backward rounds them from the master. Listed are: publication_pass(), step_end, updates. The
/// updates then run concurrently with forward and backward of the next step, whose parameters lack them. They
/// begin with the last units, whose gradients backward overwrites first. The first such step, and each step
/// before it, finds parameters that are up to date, so it publishes nothing new.
///
/// Source: Liao et al., "Adding NVMe SSDs to Enable and Accelerate 100B Model Fine-tuning on a Single GPU"
///         (Fuyou), 2024, section 4.2 (optimizer concurrent with backward); Lian et al., "SuperOffload", 2025
///         (speculation and rollback); Ren et al., "ZeRO-Offload", 2021, section 5.2 (delayed update)
void optimizer_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

/// Adds the publication of all master weights.
///
/// In a program of its own (Variant::publish), it follows each step whose update is not delayed yet.
///
/// \pre the run has master weights
void publication_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
