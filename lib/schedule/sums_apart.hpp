/// sums_apart: ops that add to a gradient which a later op still reads.
#pragma once

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// True if the op adds to the operand that it reads in that role, and writes the sum to another buffer.
inline bool sums_apart(const Program& program, const Op& op, Role role) {
    const auto* const read = program.find_read(op, role);
    const auto* const written = program.find_write(op, role);
    return read != nullptr && written != nullptr && read->buffer != written->buffer;
}

}  // namespace ziggurat::schedule
