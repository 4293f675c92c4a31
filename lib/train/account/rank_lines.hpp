/// ranks.jsonl: bytes that each rank has sent, moved and held, to be compared with `plan --json`.
#pragma once

#include <span>
#include <string>

#include "train/account/accounting.hpp"

namespace ziggurat::train {

/// Returns one JSON object per rank, each on its line.
///
/// Counts are sums over all steps of the start; fields that would be 0 are omitted, except those of memory:
/// - `rank`, `steps`
/// - `sent_<purpose>_B`: bytes of collectives and messages, at the rank that copied them: the receiver of a
///   message within a node, its sender between nodes
/// - `<lane>_B`: bytes of state and activations that were moved between tiers, such as `nvme_read_B`
/// - `skipped_<lane>_B`: planned bytes that the first steps did not move, because they were zeros
/// - `device_B`, `host_B`, `nvme_B`: reserved bytes
/// - `device_resident_B`, `host_resident_B`, `nvme_resident_B`: the part of them that has been touched
/// - `process_start_B`, `process_step_B`, `process_peak_B`: maxima of the other private memory of the process
///   until the first step, at the ends of steps, and until the end
///
/// Pure; rank r's record is at index r.
std::string rank_lines(std::span<const AccountRecord> ranks);

}  // namespace ziggurat::train
