/// Homes `auto`: where state goes that the deck leaves to the planner.
#pragma once

#include "plan/watch.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// `spec` with a home for every kind that is open, and the recomputation where that is: of each stage for
/// itself, within the device of its ranks and their equal part of a node's memory and disks. Recomputation is
/// the least with which all fits and no activations leave the device whose home is open, or else full.
///
/// Homes are on the device as far as its budget goes, then on the host,
/// then, where the deck names folders for it, on NVMe.
///
/// What moves least for each byte leaves the device first, and the host in the same order: optimizer state
/// (with its chunks updated on the host, only a gradient goes out and a parameter comes back), gradients (out
/// once for each micro-batch), activations (out and back for each micro-batch), parameters (in for each use
/// in each micro-batch). A kind that is divided is cut between chunks, activations between layers, so that
/// what stays free of a budget is less than a chunk. The programs are built to try: staging buffers count.
///
/// Where nothing fits, all that is open is as far out as it can be. The search is less fine where programs
/// are large: it builds a bounded number of ops, and what it has found to be enough by then has to do.
///
/// Tiles that are open are the fewest, of all weights alike, with which the device's budget is enough, tried
/// with homes of their own each time; where the depth of prefetch is open as well, up to twice as many as
/// without fetching ahead.
///
/// Source: Ren et al., "ZeRO-Offload", 2021, section 3 (what leaves first); Rajbhandari et al.,
/// "ZeRO-Infinity", 2021, section 5.1.
spec::RunSpec choose_homes(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           const Watch& watch = {});

}  // namespace ziggurat::plan
