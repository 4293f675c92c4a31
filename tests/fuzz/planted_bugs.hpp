/// Bugs of the kind that passes over step programs can have, to be planted in programs that are right.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>

#include "schedule/step_program.hpp"

namespace ziggurat::test {

/// What goes wrong in which op.
struct PlantedBug {
    const char* name;
    /// Whether an op of the program is one that can have the bug.
    bool (*is_place)(const schedule::Program& program, const schedule::Op& op);
    void (*spoil)(schedule::Program& program, schedule::Op& op);
};

/// GoogleTest's print of a test's parameter.
void PrintTo(const PlantedBug& bug, std::ostream* out);

std::span<const PlantedBug> planted_bugs();

/// Spoils one op, on all ranks of a run the same: which of the possible ones follows from `seed`. False when
/// the program has no place for the bug.
bool plant(const PlantedBug& bug, std::uint64_t seed, schedule::Program& program);

}  // namespace ziggurat::test
