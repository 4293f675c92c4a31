/// State movement: fetches from host or NVMe before use, evictions after a change.
#pragma once

#include <vector>

#include "schedule/expand/expand.hpp"
#include "schedule/residency/bridged_residencies.hpp"

namespace ziggurat::schedule {

/// Moves the persistent state of each kind to its home and inserts the fetches and evictions.
///
/// Every op works in one tier: the device. Exceptions are updates, sums and norms of gradients, which work on
/// the host if their state is not at home on the device. An operand with its home in another tier gets a
/// buffer in the op's tier for one unit_pass (a pass of one micro-batch, a gather or an update). The buffer
/// is filled before the unit_pass with the bytes that are read, and emptied after it of the bytes that are
/// written. One op moves all bytes that take the same path for the same op. Transfers between device and NVMe
/// go through a buffer on the host. Reads from NVMe cover whole pages.
///
/// With overlap.prefetch P, a copy is issued P unit passes early and a read from NVMe 2 P. A read of
/// optimizer state is issued overlap.optimizer_prefetch unit passes early, if that is more. No fetch is
/// issued before the op that last writes the same bytes at home. derive_dependencies extends that rule over
/// the step's end. Only shards move: with sharded parameters, the gather runs between device buffers.
///
/// Does nothing if all state is at home on the device. Runs after all passes that name state. Returns the
/// residencies on the device, with their buffers if no state stays.
///
/// \param stays  by residency: true if its bytes stay on the device until the next residency that uses them;
///               empty: no bytes stay. Prefetches are issued as without stays.
///
/// Source: Rajbhandari et al., "ZeRO-Infinity", 2021, sections 5.1 (placement), 6.2 (overlap); Ren et al.,
/// "ZeRO-Offload", 2021, section 4.
std::vector<DeviceResidency> transfer_pass(ProgramBuilder& draft,
                                           const spec::RunSpec& spec,
                                           const ModelLayout& model,
                                           const std::vector<bool>& stays = {});

}  // namespace ziggurat::schedule
