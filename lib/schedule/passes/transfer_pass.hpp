/// Static movement: state that is at home on the host or on NVMe comes when it is needed and goes when it has
/// changed.
#pragma once

#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Puts the persistent state of each kind at its home and inserts the fetches and evictions that follow.
///
/// Every op works in one tier: on the device, but the optimizer where its state is not at home there, and
/// sums and norms of gradients where these are not, on the host. An operand that is at home elsewhere gets a
/// buffer in the op's tier for that unit_pass (a pass of one micro-batch, a gather, an update): filled before
/// it with the bytes that are read, emptied after it of the bytes that are written; one op moves all that
/// goes the same way for the same op. Between device and NVMe both ways lead through a buffer on the host.
/// From NVMe whole pages are read.
///
/// With overlap.prefetch P, a copy is issued P unit passes ahead and a read from NVMe 2 P, that of optimizer
/// states overlap.optimizer_prefetch if that is more, but never in front of the op that last writes the same
/// bytes at home; derive_dependencies extends that over the step's end.
/// Only slices move: with sharded parameters the gather runs between device buffers.
///
/// Does nothing when everything is at home on the device. Runs after all passes that name state.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, sections 5.1 (placement), 6.2 (overlap); Ren et al.,
/// "ZeRO-Offload", 2021, section 4.
void transfer_pass(Draft& draft, const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
