/// Control values: what the trainer gives ops and takes from them, on its way between host and device.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Gives ops of the device twins, there, of the host's buffers in Program::trainer_buffers, and inserts what
/// fills and empties these, each only where an op asks for it:
///
/// - a copy of the batch of a micro-batch in front of its first reader, and of step_inputs and
///   update_inputs in front of theirs;
/// - zeros for the exact sum of the device, and for that of the host, in front of the first norm there;
///   a copy of the device's behind its last norm. `step_end` reads the sums that are filled;
/// - a copy of the losses of a micro-batch behind their last writer;
/// - in a program that evaluates, behind each block of logits a copy of the row of one token, chosen
///   before the run, to trainer_buffers.watched_logits.
///
/// Copies have the purpose `control` and lanes of their own (Program::control_lane). Twins live within a
/// step, so that their memory is shared.
///
/// Runs behind transfer_pass, which says what works on the host.
void control_pass(Draft& draft, const ModelLayout& model);

}  // namespace ziggurat::schedule
