/// Second slots of optimizer state on NVMe, for updates that may be repeated.
#pragma once

#include "schedule/residency/transfer_residencies.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Adds a second slot to each part of optimizer state whose home is NVMe.
///
/// A speculative update reads one slot and writes the other one, so the state before it is kept. Frozen
/// state, which no update changes, has one slot. All variants of a program have the same slots.
void add_second_slots(Program& program, const Residencies& found);

}  // namespace ziggurat::schedule
