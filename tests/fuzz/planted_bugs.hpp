/// Bugs that the passes of step programs could have, to be planted in correct programs.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>

#include "schedule/step_program.hpp"

namespace ziggurat::test {

/// A bug and the ops that can have it.
struct PlantedBug {
    const char* name;
    /// Returns true if the op can have the bug.
    bool (*is_place)(const schedule::Program& program, const schedule::Op& op);
    void (*spoil)(schedule::Program& program, schedule::Op& op);
};

/// Prints a test's parameter for GoogleTest.
void PrintTo(const PlantedBug& bug, std::ostream* out);

std::span<const PlantedBug> planted_bugs();

/// Plants the bug in one op, the same on all ranks of a run, chosen by `seed`. Returns false if no op
/// can have it.
bool plant(const PlantedBug& bug, std::uint64_t seed, schedule::Program& program);

}  // namespace ziggurat::test
