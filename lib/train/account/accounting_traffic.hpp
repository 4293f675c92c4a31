/// Traffic in the account of a run: bytes sent between ranks, and waits for ranks and lanes.
#pragma once

#include <span>
#include <string>

#include "train/account/accounting.hpp"

namespace ziggurat::train {

/// Returns a table of the longest waits of the compute lane by name.
///
/// Each row shows the rank that waited longest, in ms per step. Empty if no rank waited. Pure; rank r's
/// record is at index r.
std::string stall_cause_table(std::span<const AccountRecord> ranks);

/// Returns a table of collectives: planned and counted bytes per step of the rank that moved the most.
///
/// The table also shows counted minus planned bytes over all ranks and steps, with a warning if it is not 0.
/// If nodes have different numbers of ranks, some ranks move more bytes than in a ring and others fewer; the
/// sum is the same. Empty if no collective moves bytes. Pure; rank r's record is at index r.
std::string traffic_table(std::span<const AccountRecord> ranks);

}  // namespace ziggurat::train
