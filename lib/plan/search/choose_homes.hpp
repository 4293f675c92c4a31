/// Choice of homes that the deck leaves to the planner (`auto`).
#pragma once

#include "plan/watch.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Returns `spec` with a home for every open kind, and with recomputation if that is open.
///
/// Each stage chooses for itself, within the device of its ranks and their equal share of a node's memory and
/// disks. Recomputation is the smallest with which all state fits and no activations with an open home leave
/// the device; otherwise it is full.
///
/// Homes are on the device as far as its budget allows, then on the host, then on NVMe if the deck names
/// folders for it.
///
/// The kind with the smallest traffic per byte leaves the device first; kinds leave the host in the same
/// order: optimizer state (if the host updates its chunks, only a gradient is sent and a parameter returned),
/// gradients (sent once for each micro-batch), activations (sent and returned for each micro-batch),
/// parameters (fetched for each use in each micro-batch). A kind that is divided is cut between chunks,
/// activations between layers. The unused part of a budget is therefore smaller than a chunk. The search
/// builds the programs, so staging buffers count.
///
/// With Movement::chunks, homes are those of static movement: chunks use only the memory that these leave
/// free. choose_fastest_homes() compares several such choices.
///
/// If no choice fits, all open state is as far from the device as possible. The search is coarser for large
/// programs: it builds a bounded number of ops, and returns the best result within that bound.
///
/// Open tiles: all weights get the smallest equal number of tiles that fits the device's budget, tried with
/// separate homes each time. If the depth of prefetch is also open, the number may be up to twice that
/// without prefetching.
///
/// Source: Ren et al., "ZeRO-Offload", 2021, section 3 (what leaves first); Rajbhandari et al.,
/// "ZeRO-Infinity", 2021, section 5.1.
spec::RunSpec choose_homes(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           const Watch& watch = {});

}  // namespace ziggurat::plan
