/// Functions that both implementations of a head share; only expand_head*.cpp includes this file.
#pragma once

#include <cstdint>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Returns the index of the phase of that kind; a head has exactly one.
int phase_of(const layout::Unit& unit, layout::PhaseKind kind);

/// Returns an operand for rows [begin, end) of a buffer of rows.
Operand part(BufferId buffer, Role role, std::int64_t begin, std::int64_t end, std::int64_t row_bytes);

/// Restricts an op to some of the rows and scales its FLOPs.
void set_rows(Op& op, const Op& of_all_rows, std::int64_t begin, std::int64_t end);

}  // namespace ziggurat::schedule
