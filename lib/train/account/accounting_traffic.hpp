/// Traffic in the account of a run: bytes sent between ranks, and waits for ranks and lanes.
#pragma once

#include <span>
#include <string>

#include "train/account/accounting.hpp"

namespace ziggurat::train {

/// The longest waits of the compute lane by name, of the rank that waited longest, per step. Empty when
/// nothing was waited for. Pure; rank r's record is at index r.
std::string stall_cause_table(std::span<const AccountRecord> ranks);

/// Bytes per step that the plan says and that were counted, of the rank that has moved most; and the
/// difference over all ranks and steps, with a warning where it is not 0. Where nodes have different numbers
/// of ranks, one rank moves more than a ring would and another less, in all the same. Empty when nothing
/// travels. Pure; rank r's record is at index r.
std::string traffic_table(std::span<const AccountRecord> ranks);

}  // namespace ziggurat::train
