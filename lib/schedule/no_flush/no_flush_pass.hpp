/// Steps of a pipeline without a flush (pipedream): a window of the order, slots and stashes.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Cuts one step out of the program of more micro-batches, which has the order of 1F1B.
///
/// With the numbers of spec::WeightVersions, the step has forward of the micro-batches [ahead, ahead + m) and
/// backward of [0, m), in turn. Ops of other micro-batches are removed.
///
/// - Values that are needed after the step that made them are in slots (Lifetime::in_flight), which move on
/// by
///   m in each step (Rotation): those that backward reads, in one slot more than micro-batches are ahead, and
///   those that a stage receives, in another one. They are received one forward early, in the step in which
///   the stage before sends them.
/// - Backward of a micro-batch whose forward used older weights reads them from a stash. At the end of a
///   step, before the update, a `copy` with Purpose::stash writes the oldest one. Units whose backward reads
///   no parameters, such as an embedding, have no stash.
///
/// - Saved activations whose home is not the device have their slots there. Forward and backward name
///   transient buffers, between which activation_pass moves the values (ProgramBuilder::values_away). Those
///   that a stage receives have two more slots, on the device. The last stage has nothing in flight but these.
///
/// Stashes are like the parameters: sharded as they are, in their type, and at home in the same tiers.
///
/// \pre the run has spec::has_no_flush; no pass has added updates or sums of gradients
void no_flush_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
