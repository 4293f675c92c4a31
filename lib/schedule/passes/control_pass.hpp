/// Transfers of control values between the trainer's buffers on the host and the device.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Adds device copies of the host buffers in Program::trainer_buffers for ops of the device.
///
/// Inserts the ops that fill and empty these copies, each only if an op of the program needs it:
///
/// - a copy of the batch of a micro-batch before its first reader, and of step_inputs and update_inputs
///   before their first readers;
/// - zeros for the exact sum of the device, and for the sum of the host, before the first norm there; a
///   copy of the device's sum after its last norm. `step_end` reads the sums that are filled. Units that are
///   clipped by their own norms have their own sums, which `unit_clip` reads, too;
/// - the same for the sums of updates, which the trainer reads, if the run reports norms by unit;
/// - a copy of the losses of a micro-batch after their last writer;
/// - in an evaluation program, after each block of logits, a copy of the row of one token, selected before
///   the run, to trainer_buffers.watched_logits. In a program with a KV cache: of up to
///   layout::kept_logits() rows.
///
/// Copies have the purpose `control` and their own lanes (Program::control_lane). Device copies live within a
/// step, so other buffers can reuse their memory.
///
/// Runs after transfer_pass, which decides which ops work on the host.
void control_pass(ProgramBuilder& draft, const ModelLayout& model);

}  // namespace ziggurat::schedule
